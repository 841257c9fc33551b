"""``reweigh fix``: from data with wrong labels to a corrected copy, in one command that can be continued."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli import arguments as arg
from reweigh.cli.issues import check_copy, show_changes, show_copy
from reweigh.cli.printing import echo
from reweigh.cli.review import NoBrowser, Port, Reviewer, decide
from reweigh.cli.train import carry_out, contents_of
from reweigh.errors import DataError

if TYPE_CHECKING:
    from reweigh.data.source import Source


def fix(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Your folder of images, table or arrays.")],
    changes: arg.Changes = None,
    label: arg.Label = None,
    labels: arg.Labels = None,
    drop: arg.Drop = None,
    sep: arg.Sep = None,
    encoding: arg.Encoding = None,
    join_labels: arg.JoinLabels = False,
    group: arg.Group = None,
    out: Annotated[
        Path | None, typer.Option(metavar="COPY", help="Corrected copy. Default: beside DATA, with -corrected.")
    ] = None,
    links: Annotated[bool, typer.Option("--links", help="Link to images in the copy instead of copying them.")] = False,
    run: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Run folder. Default: runs/NAME-METHOD-seedSEED.")
    ] = None,
    accept_all: Annotated[
        bool, typer.Option("--accept-all", help="Accept every suggested label instead of reviewing them.")
    ] = False,
    reviewer: Reviewer = None,
    port: Port = 0,
    no_browser: NoBrowser = False,
    yes: Annotated[bool, typer.Option("--yes", help="Write the copy even if a class loses all its samples.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing copy.")] = False,
) -> None:
    """Find wrong labels, review them in your browser, and write a corrected copy.

    Your data are never changed. After Ctrl-C, a crash or another day, the same command continues: a run that has ended
    is used as it is, and decisions are kept.

    \b
      reweigh fix photos/
      reweigh fix table.csv --label kind --accept-all
    """
    from reweigh.fit.run_folder import open_run
    from reweigh.fit.source import source_of
    from reweigh.recipes.read import check
    from reweigh.review.server import check_server
    from reweigh.runs.correction import correct

    if not Path(data).exists():
        raise DataError(f"DATA: there is no file or folder {data!r}; give the path of your data")
    if not accept_all:
        check_server()
    how = arg.written(sep, encoding, drop, join_labels, group)
    name, contents = contents_of(None, changes or [], data, label, labels, how=how)
    plan = check(contents)
    source = source_of(plan.source)
    assert source is not None
    copy = out or beside(source)
    check_copy("--out", copy, source, overwrite)
    if not os.access(copy.absolute().parent, os.W_OK):
        raise DataError(f"--out {copy}: {copy.parent} is read-only; choose another path")
    folder = run or Path("runs", f"{name}-{plan.method.name}-seed{plan.train['seed']}")
    if not (folder / "recipe.toml").is_file():
        carry_out(contents, name, folder, overwrite=False)
    elif open_run(folder)[1] != plan:
        raise DataError(f"{folder}: the run there has another recipe; choose another folder with --run")
    else:
        continued(folder)
    if accept_all:
        correction = correct(folder)
    else:
        echo("\nNow look at these labels; Ctrl-C ends the review and writes the corrected copy.")
        if not decide(folder, reviewer, port, no_browser):
            echo("\nNo label was decided about, so there is nothing to write. The same command goes on from here.")
            return
        correction = correct(folder, decisions=folder)
    echo()
    show_changes(correction.pairs(), int(correction.samples.labeled.sum()))
    show_copy(copy, correction.write(copy, force=yes, overwrite=overwrite, links=links))
    if accept_all:
        echo("Nobody looked at these labels. Where classes overlap, most suggestions can be wrong: look at some with")
        echo(f"reweigh review {folder}, or count the wrong labels with reweigh audit {folder}.")


def beside(source: "Source") -> Path:
    """The usual path of a corrected copy: photos-corrected, or table-corrected.csv."""
    from reweigh.runs.copies import copy_ending

    path = source.path.resolve()
    return path.with_name(f"{path.name.split('.')[0]}-corrected{copy_ending(source)}")


def continued(folder: Path) -> None:
    """Train an interrupted run to its end; of one that has ended, print what it found."""
    from reweigh.cli.outcome import show_outcome
    from reweigh.fit.run_folder import resume
    from reweigh.runs.headline import headline
    from reweigh.runs.read import read_account
    from reweigh.training import Run, progress

    if not Run(folder).samples.is_file():
        echo(f"Continuing {folder}")
        show_outcome(resume(folder, progress()))
        return
    echo(f"{folder} has ended already. {headline(read_account(folder, folder.name))}")

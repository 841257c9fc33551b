"""``reweigh issues``: the labels of a run that look wrong, to read, to write down, or to correct in a copy."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reweigh.cli.target import check_ending, check_target
from reweigh.errors import DataError

if TYPE_CHECKING:
    from reweigh.report.account import Account

HEADS = ("index", "name", "given_label", "suggested_label", "label_quality", "weight")


def issues(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all of them to this .csv.")] = None,
    apply: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a copy of the data with the suggested labels.")
    ] = None,
    top: Annotated[int, typer.Option(min=0, metavar="N", help="How many to print.")] = 20,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")] = False,
) -> None:
    """List the labels that look wrong, the worst first.

    The copy of a table is the table with other labels; for images and arrays it is a label file, for --labels. The data
    themselves are never changed.
    """
    from reweigh.files import write_whole
    from reweigh.fit.run_folder import not_ended, open_run
    from reweigh.report.read import read_account
    from reweigh.report.suspects import suspects

    folder, recipe = open_run(run)
    originals = originals_of(recipe.source.options, recipe.source.added["root"])
    if out:
        check_ending("--out", out, (".csv",), "a table of label issues")
        check_target("--out", out, [out], originals, overwrite)
    if apply:
        check_target("--apply", apply, [apply], originals, overwrite)
    if out and apply and out.resolve() == apply.resolve():
        raise DataError(f"--out and --apply: both {out}; give two names")
    account = read_account(run, run.name)
    samples = account.samples
    if samples is None:
        raise not_ended(folder, folder.samples)
    if samples.issue is None or samples.suggested is None or samples.quality is None:
        raise DataError(f"{folder.samples}: tells no suggested labels; train again to get them (train.looks above 0)")
    rows = suspects(samples)
    table = [_row(account, samples_row) for samples_row in rows.tolist()]
    corrected = None
    if apply:
        from reweigh.cli.correction import corrected_copy

        corrected = corrected_copy(account, apply)
    show(account, table, top)
    if out:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(HEADS)
        writer.writerows(table)
        write_whole(out, text.getvalue())
        typer.echo(f"All {len(table)}: {out}")
    if apply and corrected:
        write_whole(apply, corrected.content)
        typer.echo(f"Corrected copy, {len(table)} labels changed: {apply}\nNext: {corrected.usage}")


def originals_of(options: Mapping[str, Any], root: str | None) -> list[Path]:
    """The user's own files that a run was made from."""
    from reweigh.fit.source import data_root

    named = [options.get(key) for key in ("path", "test", "labels")]
    return [Path(data_root(root), path) for path in named if path]


def called(account: "Account", place: int) -> str:
    """What a training sample is called in the user's data: file name or row number; empty if the data are gone."""
    from reweigh.report.suspects import file_name

    assert account.samples is not None
    return file_name(account, place) or str(account.samples.row[place])


def _row(account: "Account", row: int) -> tuple[str, ...]:
    samples = account.samples
    assert samples is not None
    assert samples.suggested is not None
    assert samples.quality is not None
    names = account.classes.names if account.dataset is None else account.dataset.class_names
    given, suggested = (int(labels[row]) for labels in (samples.given, samples.suggested))
    weight = "" if samples.weight is None else f"{samples.weight[row]:.6g}".replace("nan", "")
    return (
        str(samples.row[row]),
        called(account, row),
        names[given],
        names[suggested],
        f"{samples.quality[row]:.6g}",
        weight,
    )


def show(account: "Account", table: Sequence[Sequence[str]], top: int) -> None:
    """Print the worst labels."""
    from reweigh.cli.printing import show_table

    assert account.samples is not None
    many, total = len(table), int(account.samples.labeled.sum())
    title = f"{account.path}: {many:,} of {total:,} labels ({many / max(total, 1):.1%}) look wrong"
    named = account.dataset is not None and bool(account.dataset.reading.names)
    head = "file" if named else "row of the data" if account.dataset is not None else "training sample"
    cells = [
        [row[1] or row[0], row[2], row[3], f"{float(row[4]):.3f}", f"{float(row[5]):.2f}" if row[5] else "-"]
        for row in table[:top]
    ]
    if not cells:
        typer.echo(title)
    else:
        show_table(title, [head, "given", "suggested", "quality", "weight"], cells)
    if account.dataset is None:
        typer.echo(f"Samples go by their place in the training set, for the data could not be read: {account.no_data}")
    elif not named and cells:
        typer.echo("Rows are counted from 0; a header is no row.")
    if many > top > 0:
        typer.echo(f"These are the worst {top}; --out issues.csv writes all {many:,}.")

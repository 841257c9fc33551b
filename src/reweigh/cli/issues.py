"""``reweigh issues``: the labels of a run that look wrong, to read, to write down, or to correct in a copy."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.arguments import Overwrite, RunFolder, SpreadsheetSafe, check_ending, check_outside, check_target
from reweigh.cli.printing import echo, show_table
from reweigh.errors import DataError
from reweigh.names import plural

if TYPE_CHECKING:
    from reweigh.data.source import Source

MAX_PAIRS = 12  # of classes that are shown


def issues(
    run: RunFolder,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the whole list to this .csv.")] = None,
    apply: Annotated[
        Path | None,
        typer.Option(
            metavar="COPY",
            help="Write a copy of the data with the suggested labels: a table, a folder of images, or a label file.",
        ),
    ] = None,
    links: Annotated[
        bool, typer.Option("--links", help="With --apply FOLDER, link to the images instead of copying them.")
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Number of labels to print (default: 20) and, with --apply, to change."),
    ] = None,
    min_doubt: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="With --apply, change labels of quality 1-SHARE or less."),
    ] = None,
    apply_from: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --apply, decisions to use: a table with columns row and decision (accept, reject or a label), "
            "or a reviewed RUN.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="TOOL", help="With --out, write tasks for another tool: label-studio, argilla, fiftyone, hf or csv."
        ),
    ] = None,
    url_prefix: Annotated[
        str | None,
        typer.Option(metavar="URL", help="With --to, what to put before the names of images. Default: their paths."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --apply, also change labels that are not flagged, or remove a class.")
    ] = False,
    overwrite: Overwrite = False,
    spreadsheet_safe: SpreadsheetSafe = False,
) -> None:
    """List the labels that look wrong, the worst first.

    --apply writes a corrected copy: for a table, the same table with other labels; for images by class, such a folder
    and a list of what moved; for arrays, or if COPY ends in .csv, a label file to use with --labels. Your data are
    never changed.
    """
    from reweigh.files import write_whole
    from reweigh.files.cells import to_csv
    from reweigh.fit.run_folder import open_run
    from reweigh.fit.source import source_of
    from reweigh.runs.audit import claim
    from reweigh.runs.correction import correct
    from reweigh.runs.read import read_classes, with_verdicts
    from reweigh.runs.words import judged

    if not apply and (min_doubt is not None or apply_from or yes or links):
        raise DataError("--min-doubt, --apply-from, --links and --yes need --apply COPY; give that too")
    if apply_from and (min_doubt is not None or top is not None):
        raise DataError("--apply-from already decides which labels to change; leave out --min-doubt and --top")
    folder, plan = open_run(run)
    source = source_of(plan.source)
    originals = [] if source is None else source.files
    if (to or url_prefix is not None) and not out:
        raise DataError("--to and --url-prefix need --out FILE; give that too")
    if url_prefix is not None and (to or "csv") == "csv":
        raise DataError("--url-prefix needs --to label-studio, argilla, fiftyone or hf; give that too")
    if out and to and to != "csv":
        send(run, to, out, url_prefix, originals, overwrite)
        return
    if out:
        check_ending("--out", out, (".csv",), "a table of label issues")
        check_target("--out", out, [out], originals, overwrite)
    if apply:
        check_copy("--apply", apply, source, overwrite)
    if out and apply and out.resolve() == apply.resolve():
        raise DataError(f"--out and --apply: both are {out}; give two names")
    samples, held_out = with_verdicts(run)
    table, labels = samples.issue_table(read_classes(folder).names), int(samples.labeled.sum())
    usage = None
    if apply:
        correction = correct(run, top=top, min_doubt=min_doubt, decisions=apply_from)
        show_changes(correction.pairs(), labels)
        usage = correction.write(apply, force=yes, overwrite=overwrite, spreadsheet_safe=spreadsheet_safe, links=links)
    else:
        show(str(run), table, labels, 20 if top is None else top)
        if known := claim(run):
            echo(known)
        seen = int(samples.labeled[: len(samples) - held_out].sum())
        echo(judged(seen, labels - seen))
        if samples.outlier is not None and samples.near_duplicate_of is not None:
            copies, alone = int((samples.near_duplicate_of != "").sum()), int(samples.outlier.sum())
            echo(
                f"Regardless of labels: {plural(copies, 'sample has', 'samples have')} a near-duplicate, "
                f"{plural(alone, 'is an outlier', 'are outliers')}; "
                f"columns near_duplicate_of and is_outlier of {folder.samples}. In reweigh review, X leaves one out."
            )
    if out:
        write_whole(out, to_csv(table, out, spreadsheet_safe))
        echo(f"{plural(len(table) - 1, 'label')} written to {out}")
    if apply and usage:
        show_copy(apply, usage)


def check_copy(option: str, out: Path, source: "Source | None", overwrite: bool) -> None:
    """Refuse to write a corrected copy over existing files, or into the data."""
    from reweigh.runs.copies import as_folder, check_room

    originals = [] if source is None else source.files
    if source is not None and source.path.exists() and as_folder(source, out):
        check_target(option, out, [], originals, overwrite)
        check_outside(option, out, originals)
        check_room(out, overwrite)
    else:
        check_target(option, out, [out], originals, overwrite)


def show_copy(copy: Path, usage: str) -> None:
    from reweigh.runs.copies import moves_file

    moved = f" (what moved: {moves_file(copy)})" if copy.is_dir() else ""
    echo(f"Corrected copy: {copy}{moved}\nNext: {usage}")


def send(run: Path, tool: str, out: Path, prefix: str | None, originals: Sequence[Path], overwrite: bool) -> None:
    from reweigh.files import write_whole
    from reweigh.runs.exchange import exchange

    check_ending("--out", out, (".jsonl",) if tool == "hf" else (".json",), f"a file for {tool}")
    check_target("--out", out, [out], originals, overwrite)
    files = exchange(run, tool, out, prefix)
    further = {out.with_suffix(ending): content for ending, content in files.further.items()}
    check_target("--out", out, list(further), originals, overwrite)
    for path, content in {out: files.content, **further}.items():
        write_whole(path, content)
    echo(f"Written to {' and '.join(map(str, [out, *further]))}.")
    echo(f"In {tool}: {files.usage}.")
    echo(f"Then: reweigh train {run} --reviewed FILE, or reweigh issues {run} --apply COPY --apply-from FILE.")


def show_changes(pairs: Sequence[tuple[str, str, int]], labels: int) -> None:
    if not pairs:
        echo("No label changes.")
        return
    rows = [[old, new or "(left out)", f"{count:,}"] for old, new, count in pairs[:MAX_PAIRS]]
    changed = sum(count for *_, count in pairs)
    show_table(f"{changed:,} of {labels:,} labels change", ["from", "to", "labels"], rows)
    if len(pairs) > MAX_PAIRS:
        echo(f"and {len(pairs) - MAX_PAIRS} more pairs of classes.")


def show(run: str, table: Sequence[Sequence[str]], labels: int, top: int) -> None:
    from reweigh.runs.headline import WEAK_MODEL_SHARE
    from reweigh.runs.tables import OR_NONE
    from reweigh.runs.words import score

    header, *rows = table
    title = f"{run}: {len(rows):,} of {labels:,} labels ({len(rows) / max(labels, 1):.1%}) look wrong"
    if not rows[:top]:
        echo(title)
        return
    named, cells = "name" in header, []
    for row in rows[:top]:
        of = dict(zip(header, row, strict=True))
        suggested = of["suggested_label"] + (OR_NONE if of.get("is_outlier") == "True" else "")
        quality, weight = score(float(of["label_quality"])), f"{float(of['weight']):.2f}" if of["weight"] else "-"
        cells.append([of["name" if named else "row"], of["given_label"], suggested, quality, weight])
    show_table(title, ["file" if named else "row", "given", "suggested", "quality", "weight"], cells)
    if not named:
        echo("Rows are counted from 0, without the header.")
    if len(rows) > WEAK_MODEL_SHARE * labels:
        echo("So large a share usually means a weak model, not bad labels: train longer, or on more samples per class.")
    if len(rows) > top:
        echo(f"These are the worst {top}; --out issues.csv writes all {len(rows):,}.")

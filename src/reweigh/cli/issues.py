"""``reweigh issues``: the labels of a run that look wrong, to read, to write down, or to correct in a copy."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.arguments import Overwrite, RunFolder, SpreadsheetSafe
from reweigh.cli.printing import echo, show_table
from reweigh.cli.target import check_ending, check_target
from reweigh.errors import DataError
from reweigh.names import plural

if TYPE_CHECKING:
    from reweigh.runs.tables import Samples


def issues(
    run: RunFolder,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the whole list to this .csv.")] = None,
    apply: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a copy of the data with the suggested labels.")
    ] = None,
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
    yes: Annotated[
        bool, typer.Option("--yes", help="With --apply, also change labels that are not flagged, or remove a class.")
    ] = False,
    overwrite: Overwrite = False,
    spreadsheet_safe: SpreadsheetSafe = False,
) -> None:
    """List the labels that look wrong, the worst first.

    --apply writes a corrected copy: for a table, the same table with other labels; for images and arrays, a label file
    to use with --labels. Your data are never changed.
    """
    from reweigh.cli.source import files_of
    from reweigh.files import write_whole
    from reweigh.files.cells import to_csv
    from reweigh.fit.run_folder import not_ended, open_run
    from reweigh.runs.read import read_account, read_classes
    from reweigh.runs.tables import read_samples
    from reweigh.runs.words import judged

    if not apply and (min_doubt is not None or apply_from or yes):
        raise DataError("--min-doubt, --apply-from and --yes need --apply FILE; give that too")
    if apply_from and (min_doubt is not None or top is not None):
        raise DataError("--apply-from already decides which labels to change; leave out --min-doubt and --top")
    folder, plan = open_run(run)
    originals = files_of(plan.source)
    if out:
        check_ending("--out", out, (".csv",), "a table of label issues")
        check_target("--out", out, [out], originals, overwrite)
    if apply:
        check_target("--apply", apply, [apply], originals, overwrite)
    if out and apply and out.resolve() == apply.resolve():
        raise DataError(f"--out and --apply: both are {out}; give two names")
    class_names = read_classes(folder).names
    samples = read_samples(folder.samples, class_names)
    if samples is None:
        raise not_ended(folder, folder.samples)
    seen = int(samples.labeled.sum())
    unseen = read_samples(folder.held_out, class_names)
    samples = samples if unseen is None else samples.with_more(unseen)
    table = issue_rows(samples, class_names)
    if table is None:
        raise DataError(f"{folder.samples}: holds no suggested labels; train again to get them (train.looks above 0)")
    corrected = None
    if apply:
        from reweigh.cli import changes as chosen
        from reweigh.cli.correction import corrected_copy

        account = read_account(run, run.name)
        if apply_from:
            wanted = chosen.read_reviewed(apply_from, samples, class_names)
        else:
            wanted = chosen.choose(samples, min_doubt, top)
        corrected = corrected_copy(account, samples.row[wanted.index], wanted.labels, apply, spreadsheet_safe)
        chosen.show_changes(wanted, samples, class_names)
        chosen.check_changes(wanted, samples, class_names, yes, apply_from is not None)
    else:
        show(str(run), table, int(samples.labeled.sum()), 20 if top is None else top)
        echo(judged(seen, 0 if unseen is None else int(unseen.labeled.sum())))
        if samples.outlier is not None and samples.near_duplicate_of is not None:
            copies, alone = int((samples.near_duplicate_of != "").sum()), int(samples.outlier.sum())
            echo(
                f"Regardless of labels: {plural(copies, 'sample has', 'samples have')} a near-duplicate, "
                f"{plural(alone, 'is an outlier', 'are outliers')}; "
                f"columns near_duplicate_of and is_outlier of {folder.samples}"
            )
    if out:
        write_whole(out, to_csv(table, out, spreadsheet_safe))
        echo(f"{plural(len(table) - 1, 'label')} written to {out}")
    if apply and corrected:
        write_whole(apply, corrected.content)
        echo(f"Corrected copy: {apply}\nNext: {corrected.usage}")


def issue_rows(samples: "Samples", class_names: Sequence[str]) -> list[tuple[str, ...]] | None:
    """A header, and one row per label that looks wrong, the worst first; None if the run does not say which do."""
    if samples.issue is None or samples.suggested is None or samples.quality is None:
        return None
    weights, outlier, near = samples.weight, samples.outlier, samples.near_duplicate_of
    rows = [
        (
            str(samples.row[index]),
            *(samples.name[index : index + 1] if samples.name else ()),
            class_names[int(samples.given[index])],
            class_names[int(samples.suggested[index])],
            f"{samples.quality[index]:.6g}",
            "" if weights is None else f"{weights[index]:.6g}".replace("nan", ""),
            *(() if outlier is None or near is None else (str(bool(outlier[index])), str(near[index]))),
        )
        for index in samples.suspects.tolist()
    ]
    named = ("name",) if samples.name else ()
    beside = () if outlier is None or near is None else ("is_outlier", "near_duplicate_of")
    return [("row", *named, "given_label", "suggested_label", "label_quality", "weight", *beside), *rows]


def show(run: str, table: Sequence[Sequence[str]], labels: int, top: int) -> None:
    """Print the worst labels.

    Args:
        labels: Number of training labels.
    """
    from reweigh.runs.headline import WEAK

    header, *rows = table
    title = f"{run}: {len(rows):,} of {labels:,} labels ({len(rows) / max(labels, 1):.1%}) look wrong"
    if not rows[:top]:
        echo(title)
        return
    named = "name" in header
    first, last = (1, 6) if named else (0, 5)
    cells = [
        [called, given, suggested, f"{float(quality):.3f}", f"{float(weight):.2f}" if weight else "-"]
        for called, given, suggested, quality, weight in (row[first:last] for row in rows[:top])
    ]
    show_table(title, ["file" if named else "row", "given", "suggested", "quality", "weight"], cells)
    if not named:
        echo("Rows are counted from 0, without the header.")
    if len(rows) > WEAK * labels:
        echo("So large a share usually means a weak model, not bad labels: train longer, or on more samples per class.")
    if len(rows) > top:
        echo(f"These are the worst {top}; --out issues.csv writes all {len(rows):,}.")

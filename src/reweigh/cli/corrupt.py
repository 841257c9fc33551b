"""``reweigh corrupt``: worse labels on purpose, as a label file, with the truth about them beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reweigh.cli.target import check_ending, check_target

if TYPE_CHECKING:
    from reweigh.plan.mistakes import Mistake
    from reweigh.plan.plan import Part


def corrupt(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A path, or the name of a dataset.")],
    bias: Annotated[
        list[str],
        typer.Option(metavar="BIAS", help="Such as 'symmetric rate=0.4' or '{name=\"symmetric\", rate=0.4}'."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The label file to write, .csv or .npy.")],
    seed: Annotated[int, typer.Option(min=0, help="Of all that is drawn; a bias may have its own.")] = 0,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column or array of labels.")] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A label file in place of the given labels.")
    ] = None,
    root: Annotated[Path | None, typer.Option(help="The data root; $REWEIGH_DATA or data if not given.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files that are there.")] = False,
) -> None:
    """Make the training labels worse, in a file of their own.

    Several --bias follow one another. Beside FILE a summary is written: the true rate, the transition matrix and the
    class sizes. The data stay as they are. See: reweigh list biases.
    """
    check_ending("--out", out, (".csv", ".npy"), "a label file")
    check_target("--out", out, [out, out.with_suffix(".json")], [Path(data), *([labels] if labels else [])], overwrite)

    from reweigh.cli.corruption import labels_to_write, show_corruption, to_json
    from reweigh.cli.source import find
    from reweigh.files import write_whole
    from reweigh.fit.source import draw
    from reweigh.plan.mistakes import raise_all

    parts, wrong_biases = check_biases(bias)
    source, wrong_data = find(data, label, labels, root)
    raise_all(wrong_data + wrong_biases, "reweigh corrupt")
    dataset = source.read()
    done = draw(dataset, parts, seed)
    content = labels_to_write(out, dataset, done)
    write_whole(out.with_suffix(".json"), to_json(data, dataset, parts, seed, done))
    write_whole(out, content)
    show_corruption(out, source, dataset, parts, seed, done)


def check_biases(given: Sequence[str]) -> "tuple[tuple[Part, ...], list[Mistake]]":
    """The biases as a recipe would have them, and all that is wrong with them."""
    from reweigh.plan.check import check_slot
    from reweigh.plan.mistakes import Mistake, shown
    from reweigh.plan.schema import SECTIONS

    tables = [as_table(text) for text in given]
    wanted = "a name and its options, 'symmetric rate=0.4', or a table, '{name=\"symmetric\", rate=0.4}'"
    mistakes = [
        Mistake(f"--bias.{place}", f"got {shown(text)}; should be {wanted}")
        for place, text in enumerate(given)
        if tables[place] is None
    ]
    parts, found = check_slot(tables, "--bias", SECTIONS["data"].slots["bias"])
    mistakes += [mistake for mistake in found if mistake.path not in {path for path, _ in mistakes}]
    return parts, sorted(mistakes)


def as_table(text: str) -> "dict[str, Any] | None":
    """A bias as written, a table of TOML or a name followed by ``key=value``; None if it is neither."""
    from reweigh.recipes.overrides import apply, parse

    if text.lstrip().startswith("{"):
        table = parse(text)
        return table if isinstance(table, dict) else None
    name, *changes = text.split() or [""]
    table = {"name": name}
    return None if apply(changes, table) else table

"""Write down and tell what biases did to the labels."""

import csv
import io
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from reweigh.cli.bars import ENDS, LISTED, cut
from reweigh.errors import DataError

if TYPE_CHECKING:
    from reweigh.bias import Biased
    from reweigh.cli.source import Source
    from reweigh.data import Dataset
    from reweigh.plan.plan import Part

LIKELIEST = 3  # wrong labels that are named for a class


def labels_to_write(out: Path, dataset: "Dataset", done: "Biased") -> bytes | str:
    """The contents of the label file.

    Raises:
        DataError: labels are not all that was changed, or a ``.npy`` cannot say which samples are left.
    """
    import numpy as np

    from reweigh.data.labels.class_numbers import encode

    if done.replaced is not None:
        raise DataError(
            "--bias: inputs are to be replaced by foreign ones, and a label file can only hold labels; "
            "put the bias into a recipe: data.bias and data.foreign"
        )
    if out.suffix == ".csv":
        return to_csv(dataset, done)
    if len(done.index) < len(dataset):
        raise DataError(
            f"--out {out}: {len(done.index)} of {len(dataset)} samples are left, "
            "and a .npy cannot say which; write a .csv"
        )
    if not encode(done.labels, dataset.class_names)[0].equal(done.labels):
        raise DataError(f"--out {out}: the classes are called like the numbers of others; write names, to a .csv")
    buffer = io.BytesIO()
    np.save(buffer, done.labels.numpy())
    return buffer.getvalue()


def to_csv(dataset: "Dataset", done: "Biased") -> str:
    """A row a sample that is left: its place in the data, its label, the label before and, if it has one, its name."""
    names, kept = dataset.class_names, done.index
    origin = kept if dataset.origin is None else dataset.origin[kept]
    columns: dict[str, list[Any]] = {
        "index": kept.tolist(),
        "label": [names[label] for label in done.labels.tolist()],
        "before": [names[label] for label in dataset.labels[kept].tolist()],
    }
    if dataset.reading.names:
        columns["name"] = [dataset.reading.names[place] for place in origin.tolist()]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def to_json(data: str, dataset: "Dataset", parts: "Sequence[Part]", seed: int, done: "Biased") -> str:
    """The summary: what was asked for, and what came of it."""
    from reweigh.bias import summarize

    sizes = dict(zip(dataset.class_names, dataset.class_sizes.tolist(), strict=True))
    before = {"samples_before": len(dataset), "class_sizes_before": sizes}
    summary = {"data": data, "seed": seed, "biases": biases(parts), **before, **summarize(done, dataset.class_names)}
    return json.dumps(summary, indent=2, ensure_ascii=False) + "\n"


def show_corruption(
    out: Path, source: "Source", dataset: "Dataset", parts: "Sequence[Part]", seed: int, done: "Biased"
) -> None:
    """Print the end of ``reweigh corrupt``."""
    import torch

    from reweigh.cli.printing import show_table
    from reweigh.plan.toml import inline

    before, left = dataset.class_sizes.tolist(), len(done.labels)
    after = torch.bincount(done.labels, minlength=dataset.num_classes).tolist()
    rows = [
        [cut(name, 20), str(before[number]), str(after[number]), became(done, dataset.class_names, number)]
        for number, name in enumerate(dataset.class_names)
    ]
    if len(rows) > LISTED:
        rows = [*rows[:ENDS], ["...", "", "", f"{len(rows) - 2 * ENDS} classes more"], *rows[-ENDS:]]
    wrong = int(done.flipped.sum())
    title = f"{left} of {len(dataset)} samples are left, {wrong} of them ({done.rate:.1%}) with a wrong label"
    show_table(title, ["class", "before", "after", "became"], rows)
    if empty := [name for name, size in zip(dataset.class_names, after, strict=True) if size == 0]:
        typer.echo(f"No label of {', '.join(empty)} is left: nobody can train on that.")
    typer.echo(f"Labels: {out}\nSummary: {out.with_suffix('.json')}")
    if left == len(dataset) and source.takes_labels:
        typer.echo(f"Next: reweigh train demo {source.as_changes(out)} 'data.bias=[]'")
        return
    changes = shlex.join([f"data.bias={inline(biases(parts))}", f"train.seed={seed}"])
    typer.echo(
        f"To train with such labels, let the recipe make them:\nreweigh train demo {source.as_changes()} {changes}"
    )


def biases(parts: "Sequence[Part]") -> list[dict[str, Any]]:
    """The biases as a recipe would write them."""
    from reweigh.plan.toml import plain

    return [{"name": part.name, **plain({**part.options, **part.added})} for part in parts]


def became(done: "Biased", names: Sequence[str], number: int) -> str:
    """What the samples of a class are labeled now, the likeliest first."""
    shares: list[float] = done.transition[number].tolist()
    order = sorted((other for other, share in enumerate(shares) if share and other != number), key=lambda o: -shares[o])
    shown = [f"{cut(names[other], 20)} {shares[other]:.1%}" for other in order[:LIKELIEST]]
    if len(order) > LIKELIEST:
        rest = sum(shares[other] for other in order[LIKELIEST:])
        shown.append(f"{len(order) - LIKELIEST} others {rest:.1%}")
    return ", ".join(shown)

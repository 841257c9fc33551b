"""``reweigh corrupt``: wrong labels made on purpose, in a label file, with a summary of the truth beside it."""

import io
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reweigh.cli.arguments import AnyData, Label, Labels, Overwrite, Root, check_ending, check_target
from reweigh.cli.printing import CLASSES_PER_END, MAX_CLASSES, cut, echo, show_table
from reweigh.errors import DataError

if TYPE_CHECKING:
    from reweigh.bias import Biased
    from reweigh.data import Dataset
    from reweigh.plan.check import Mistake
    from reweigh.plan.plan import Part
    from reweigh.recipes.own_data import Source

MAX_NAMED = 3  # wrong labels that are named for a class


def corrupt(
    data: AnyData,
    bias: Annotated[
        list[str],
        typer.Option(metavar="BIAS", help="Bias, such as 'symmetric rate=0.4' or '{name=\"symmetric\", rate=0.4}'."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Label file to write, .csv or .npy.")],
    seed: Annotated[int, typer.Option(min=0, help="Random seed; a bias may have its own.")] = 0,
    label: Label = None,
    labels: Labels = None,
    posteriors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Probability of each class for each training sample (.npy, one row each) for feature-dependent "
            "noise. Default: those of a linear probe.",
        ),
    ] = None,
    root: Root = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a label file with deliberately wrong labels.

    Repeat --bias to apply several in order; `reweigh list biases` shows all. A summary is written next to FILE: the
    true rate, the transition matrix and the class sizes. Your data are not changed.
    """
    check_ending("--out", out, (".csv", ".npy"), "a label file")
    check_target("--out", out, [out, out.with_suffix(".json")], [Path(data), *([labels] if labels else [])], overwrite)

    from reweigh.bias import summarize
    from reweigh.files import write_whole
    from reweigh.fit.source import draw
    from reweigh.plan.check import raise_all
    from reweigh.recipes.own_data import find

    parts, wrong_biases = check_biases(bias)
    source, wrong_data = find(data, label, labels, root)
    raise_all(wrong_data + wrong_biases, "reweigh corrupt")
    dataset = source.read()
    done = draw(dataset, parts, seed, None if posteriors is None else str(posteriors))
    content = labels_to_write(out, dataset, done)
    sizes = dict(zip(dataset.class_names, dataset.class_sizes.tolist(), strict=True))
    before = {"samples_before": len(dataset), "class_sizes_before": sizes}
    summary = {"data": data, "seed": seed, "biases": biases(parts), **before, **summarize(done, dataset.class_names)}
    write_whole(out.with_suffix(".json"), json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    write_whole(out, content)
    show_corruption(out, source, dataset, parts, seed, done)


def check_biases(given: Sequence[str]) -> "tuple[tuple[Part, ...], list[Mistake]]":
    from reweigh.plan.check import Mistake, check_slot, shown
    from reweigh.plan.plan import SECTIONS
    from reweigh.recipes.read import apply, parse

    tables: list[dict[str, Any] | None] = []
    for text in given:  # a table of TOML, or a name followed by ``key=value``; None if it is neither
        if text.lstrip().startswith("{"):
            table = parse(text)
            tables.append(table if isinstance(table, dict) else None)
        else:
            name, *changes = text.split() or [""]
            table = {"name": name}
            tables.append(None if apply(changes, table) else table)
    wanted = "a name and its options, 'symmetric rate=0.4', or a table, '{name=\"symmetric\", rate=0.4}'"
    mistakes = [
        Mistake(f"--bias.{number}", f"got {shown(text)}; should be {wanted}")
        for number, text in enumerate(given)
        if tables[number] is None
    ]
    parts, found = check_slot(tables, "--bias", SECTIONS["data"].slots["bias"])
    mistakes += [mistake for mistake in found if mistake.path not in {path for path, _ in mistakes}]
    return parts, sorted(mistakes)


def labels_to_write(out: Path, dataset: "Dataset", done: "Biased") -> bytes | str:
    """The contents of the label file; a .csv also has the index, the label before and the name of each sample."""
    import numpy as np
    import pandas as pd

    from reweigh.data.labels.class_numbers import encode

    if done.replaced is not None:
        raise DataError(
            "--bias: this bias replaces inputs, and a label file can only hold labels; "
            "put the bias into a recipe: data.bias and data.foreign"
        )
    if out.suffix == ".csv":
        names, kept = dataset.class_names, done.index
        columns: dict[str, list[Any]] = {
            "index": kept.tolist(),
            "label": [names[label] for label in done.labels.tolist()],
            "before": [names[label] for label in dataset.labels[kept].tolist()],
        }
        if dataset.reading.names:
            columns["name"] = [dataset.reading.names[row] for row in dataset.source_rows[kept].tolist()]
        return pd.DataFrame(columns).to_csv(index=False, lineterminator="\n")
    if len(done.index) < len(dataset):
        raise DataError(
            f"--out {out}: {len(done.index)} of {len(dataset)} samples are left, "
            "and a .npy cannot say which; write a .csv"
        )
    if not encode(done.labels, dataset.class_names)[0].equal(done.labels):
        raise DataError(f"--out {out}: some class names are numbers of other classes; write a .csv, which holds names")
    buffer = io.BytesIO()
    np.save(buffer, done.labels.numpy())
    return buffer.getvalue()


def show_corruption(
    out: Path, source: "Source", dataset: "Dataset", parts: "Sequence[Part]", seed: int, done: "Biased"
) -> None:
    import torch

    from reweigh.plan.edit import inline

    before, left = dataset.class_sizes.tolist(), len(done.labels)
    after = torch.bincount(done.labels, minlength=dataset.num_classes).tolist()
    rows = [
        [cut(name), str(before[number]), str(after[number]), became(done, dataset.class_names, number)]
        for number, name in enumerate(dataset.class_names)
    ]
    if len(rows) > MAX_CLASSES:
        rows = [
            *rows[:CLASSES_PER_END],
            ["...", "", "", f"{len(rows) - 2 * CLASSES_PER_END} classes more"],
            *rows[-CLASSES_PER_END:],
        ]
    wrong = int(done.flipped.sum())
    title = f"{left} of {len(dataset)} samples are left, {wrong} of them ({done.rate:.1%}) with a wrong label"
    show_table(title, ["class", "before", "after", "became"], rows)
    if empty := [name for name, size in zip(dataset.class_names, after, strict=True) if size == 0]:
        echo(f"No label of {', '.join(empty)} is left, so no model can be trained on this.")
    echo(f"Labels: {out}\nSummary: {out.with_suffix('.json')}")
    takes_labels = source.part is None or "labels" in source.part.options
    if left == len(dataset) and takes_labels:
        echo(f"Next: {shlex.join(['reweigh', 'train', *source.as_words(out)])}")
        return
    changes = [f"data.bias={inline(biases(parts))}", *([f"train.seed={seed}"] if seed else [])]
    echo(f"Next: {shlex.join(['reweigh', 'train', *source.as_words(), *changes])}")


def biases(parts: "Sequence[Part]") -> list[dict[str, Any]]:
    from reweigh.plan.edit import plain

    return [{"name": part.name, **plain({**part.options, **part.added})} for part in parts]


def became(done: "Biased", names: Sequence[str], number: int) -> str:
    """The labels that the samples of a class have now, the most frequent first."""
    shares: list[float] = done.transition[number].tolist()
    order = sorted((other for other, share in enumerate(shares) if share and other != number), key=lambda o: -shares[o])
    shown = [f"{cut(names[other])} {shares[other]:.1%}" for other in order[:MAX_NAMED]]
    if len(order) > MAX_NAMED:
        rest = sum(shares[other] for other in order[MAX_NAMED:])
        shown.append(f"{len(order) - MAX_NAMED} others {rest:.1%}")
    return ", ".join(shown)

"""``reweigh predict``: what the model of a run makes of further data."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.target import check_ending, check_target

if TYPE_CHECKING:
    from reweigh.recipes.reload import Trained

SHOWN = 20  # predictions, where they are not written to a file


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Images, table or arrays as trained on; labels are not needed.")
    ],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all predictions to this .csv.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file that is there.")] = False,
) -> None:
    """Predict the classes of further data.

    They are read as the training data of the run were: the same columns, sizes and scales.
    """
    if out:
        check_ending("--out", out, (".csv",), "a table of predictions")
        check_target("--out", out, [out], [data], overwrite)

    from reweigh.files import write_whole
    from reweigh.recipes.reload import reload

    trained = reload(run)
    names, predicted, probability = predictions(trained, data)
    heads = ("name" if names else "row", "predicted", "probability")
    called = names or [str(row) for row in range(len(predicted))]
    cells = list(zip(called, predicted, (f"{value:.6g}" for value in probability), strict=True))
    if out:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(heads)
        writer.writerows(cells)
        write_whole(out, text.getvalue())
    show(data, heads, [] if out else cells, Counter(predicted), probability)
    if out:
        typer.echo(f"Predictions: {out}")
    elif len(cells) > SHOWN:
        typer.echo(f"All {len(cells):,}, as a table: --out predictions.csv")


def predictions(trained: "Trained", data: Path) -> tuple[Sequence[str], list[str], list[float]]:
    """Names of the samples (empty for rows), predicted classes by name, and their probabilities."""
    from reweigh.data.unlabeled import read_unlabeled
    from reweigh.recipes.assemble import find_device
    from reweigh.training import predict as logits_of

    form = trained.form
    found = read_unlabeled(data, form.shape, encoding=form.encoding, raw_bytes=form.bytes)
    device = find_device("auto")
    logits = logits_of(trained.model.to(device), form.dataset(found.inputs, trained.class_names), device=device)
    probability, predicted = logits.softmax(1).max(1)
    return found.names, [trained.class_names[label] for label in predicted.tolist()], probability.tolist()


def show(
    data: Path,
    heads: Sequence[str],
    cells: Sequence[tuple[str, str, str]],
    counts: Counter[str],
    probability: Sequence[float],
) -> None:
    """Print how often each class was predicted, and some predictions."""
    from reweigh.cli.bars import bars
    from reweigh.cli.printing import show_table

    mean = sum(probability) / len(probability)
    typer.echo(f"{data}: {len(probability):,} samples, predicted with a probability of {mean:.0%} on average")
    for line in bars(dict(counts.most_common())):
        typer.echo(line)
    if cells:
        typer.echo()
        show_table(
            f"The first {SHOWN}" if len(cells) > SHOWN else "All of them",
            heads,
            [(name, label, f"{float(sure):.1%}") for name, label, sure in cells[:SHOWN]],
        )

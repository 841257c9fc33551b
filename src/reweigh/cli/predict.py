"""``reweigh predict``: classes of new data by the model of a run."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.arguments import Overwrite, RunFolder, SpreadsheetSafe, TrustCode
from reweigh.cli.printing import bars, echo, show_table
from reweigh.cli.target import check_ending, check_target

if TYPE_CHECKING:
    from reweigh.fit.run_folder import TrainedModel
    from reweigh.training import Run

SHOWN = 20  # predictions, where they are not written to a file


def predict(
    run: RunFolder,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Images, table or arrays like the training data; no labels needed.")
    ],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all predictions to this .csv.")] = None,
    coverage: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Share to predict, the most confident ones; abstain from the rest."),
    ] = None,
    overwrite: Overwrite = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    trust_code: TrustCode = False,
) -> None:
    """Predict the classes of new data.

    The data are read like the training data of the run: the same columns, sizes and scales.
    """
    if coverage is not None:
        from reweigh.selective import check_coverage

        check_coverage(coverage, "--coverage")
    if out:
        check_ending("--out", out, (".csv",), "a table of predictions")
        check_target("--out", out, [out], [data], overwrite)

    from reweigh.files import write_whole
    from reweigh.files.cells import to_csv
    from reweigh.fit.run_folder import load_model

    trained = load_model(run, trust_code)
    least = None if coverage is None else calibrated_threshold(trained.run, coverage)
    names, predicted, probability, scores = predictions(trained, data)
    if least is not None:
        predicted = [label if score >= least else None for label, score in zip(predicted, scores, strict=True)]
    heads = ("name" if names else "row", "predicted", "probability")
    called = names or [str(row) for row in range(len(predicted))]
    cells = list(zip(called, predicted, (f"{value:.6g}" for value in probability), strict=True))
    if out:
        write_whole(out, to_csv([heads, *cells], out, spreadsheet_safe))
    show(data, heads, [] if out else cells, Counter(label for label in predicted if label is not None), probability)
    if least is not None:
        abstained = predicted.count(None)
        echo(
            f"{len(predicted) - abstained:,} of {len(predicted):,} are predicted "
            f"({1 - abstained / len(predicted):.1%}, wanted {coverage:.1%}); the rest have no class, because the "
            "model is not confident enough about them."
        )
    if out:
        echo(f"Predictions: {out}")
    elif len(cells) > SHOWN:
        echo(f"These are the first {SHOWN}; --out predictions.csv writes all {len(cells):,}.")


def predictions(
    trained: "TrainedModel", data: Path
) -> tuple[Sequence[str], list[str | None], list[float], list[float]]:
    """Names of the samples (empty for rows), predicted classes by name, their probabilities, and scores."""
    from reweigh.data.readers import read_unlabeled
    from reweigh.fit.scored import scored
    from reweigh.fit.trainer import at_once, find_device
    from reweigh.training import progress

    form = trained.inputs
    as_trained = {key: value for key, value in trained.plan.source.options.items() if key in ("resize", "memory_gb")}
    given = read_unlabeled(data, form.shape, encoding=form.encoding, raw_bytes=form.bytes, **as_trained)
    device = find_device("auto")
    samples = form.dataset(given.inputs, trained.class_names, trained.front, device, progress())
    names = given.names
    if names and samples.origin is not None:  # some could not be read
        names = tuple(names[row] for row in samples.origin.tolist())
    found = scored(trained.model.to(device), samples, at_once(samples), device)
    probability, predicted = found.probabilities.max(1)
    classes: list[str | None] = [trained.class_names[label] for label in predicted.tolist()]
    return names, classes, probability.tolist(), found.scores.tolist()


def calibrated_threshold(run: "Run", coverage: float) -> float:
    """The score that a sample must reach, from the scores of samples that the run did not train on.

    Raises:
        DataError: No samples were held out, or their file is not what the run wrote.
    """
    import torch

    from reweigh.errors import DataError
    from reweigh.files import read_text
    from reweigh.selective import threshold

    if not run.calibration.is_file():
        raise DataError(
            f"{run.path}: no {run.calibration.name}, so no threshold for --coverage: the run trained on all its "
            "samples; hold some out with: reweigh train RECIPE train.calibration=0.1"
        )
    try:
        rows = csv.DictReader(io.StringIO(read_text(run.calibration, "results")))
        scores = [float(row["score"]) for row in rows]
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{run.calibration}: not as the run writes it ({type(error).__name__}: {error})") from None
    return threshold(torch.tensor(scores, dtype=torch.float64), coverage)


def show(
    data: Path,
    heads: Sequence[str],
    cells: Sequence[tuple[str, str | None, str]],
    counts: Counter[str],
    probability: Sequence[float],
) -> None:
    """Print how often each class was predicted, and some predictions."""
    mean = sum(probability) / len(probability)
    echo(f"{data}: {len(probability):,} samples, predicted with a probability of {mean:.0%} on average")
    for line in bars(dict(counts.most_common())):
        echo(line)
    if cells:
        shown = [(name, "(not sure)" if label is None else label, sure) for name, label, sure in cells[:SHOWN]]
        echo()
        show_table(
            f"First {SHOWN} predictions" if len(cells) > SHOWN else "Predictions",
            heads,
            [(name, label, f"{float(sure):.1%}") for name, label, sure in shown],
        )

"""``reweigh predict``: classes of new data by the model of a run."""

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.arguments import (
    ClassShares,
    Encoding,
    Overwrite,
    Sep,
    SpreadsheetSafe,
    TrustCode,
    check_ending,
    check_target,
    latest_run,
)
from reweigh.cli.printing import bars, echo, show_table
from reweigh.errors import DataError, RecipeError
from reweigh.names import plural

if TYPE_CHECKING:
    from reweigh.data.readers.reader import Unlabeled
    from reweigh.fit.run_folder import TrainedModel
    from reweigh.fit.scored import Scored
    from reweigh.training import Run

MAX_PAIRS = 10  # pairs of classes that are shown
MAX_SHOWN = 20  # predictions, where they are not written to a file


def predict(
    run: Annotated[
        Path, typer.Argument(metavar="[RUN]", help="Folder of a run. Default: the latest in the folder runs.")
    ],
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="Images, table or arrays like the training data; no labels needed."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all predictions to this .csv.")] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also write the probability of every class.")] = False,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Share of the samples to predict, the most confident ones; abstain from the rest."
        ),
    ] = None,
    class_shares: ClassShares = None,
    sep: Sep = None,
    encoding: Encoding = None,
    overwrite: Overwrite = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    trust_code: TrustCode = False,
) -> None:
    """Predict the classes of new data.

    The data are read like the training data of the run: the same columns, sizes and scales. If a table has the label
    column, or images lie in folders of classes, the predictions are compared with these labels.
    """
    if data is None:
        if (run / "recipe.toml").is_file():
            raise DataError(f"DATA: give what to predict: reweigh predict {run} DATA")
        run, data = latest_run(), run
    if coverage is not None:
        from reweigh.selective import check_coverage

        check_coverage(coverage, "--coverage")
        if class_shares is not None:
            raise RecipeError(
                "--coverage: its threshold holds for the class shares of the run; leave out --class-shares, or train "
                "with train.class_shares"
            )
    if proba and not out:
        raise RecipeError("--proba writes to a file; give --out FILE too")
    if out:
        check_ending("--out", out, (".csv",), "a table of predictions")
        check_target("--out", out, [out], [data], overwrite)

    from reweigh.data.tables.cells import as_text
    from reweigh.files import write_whole
    from reweigh.files.cells import to_csv
    from reweigh.fit.run_folder import load_model

    trained = load_model(run, trust_code).meeting(class_shares)
    least = None if coverage is None else calibrated_threshold(trained.run, coverage)
    given, found = predictions(trained, data, sep, encoding)
    likeliest = found.probabilities.max(1) if len(found.logits) else found.logits.new_empty((2, 0))
    probability, numbers = likeliest[0].tolist(), [int(number) for number in likeliest[1].tolist()]
    predicted: list[str | None] = [trained.class_names[number] for number in numbers]
    if least is not None:
        predicted = [
            label if score >= least else None for label, score in zip(predicted, found.scores.tolist(), strict=True)
        ]
    ids: dict[str, list[str]] = {}  # the first column that names the rows, so that predictions can be joined to it
    if given.frame is not None and trained.inputs.encoding is not None:
        naming = [read.name for read in trained.inputs.encoding.readings if read.is_id and read.name in given.frame]
        ids = {name: as_text(given.frame[name]) for name in naming[:1] if name not in ("row", "predicted")}
    heads = ["name" if given.names else "row", *ids, "predicted", "probability"]
    called = given.names or [str(row) for row in range(len(predicted))]
    columns = [called, *ids.values(), predicted, [f"{value:.6g}" for value in probability]]
    cells = list(zip(*columns, strict=True))
    if out:
        rows = cells
        if proba:
            rows = [
                (*row, *(f"{p:.6g}" for p in each))
                for row, each in zip(cells, found.probabilities.tolist(), strict=True)
            ]
            heads += [f"p({name})" for name in trained.class_names]
        write_whole(out, to_csv([heads, *rows], out, spreadsheet_safe))
    shown = [] if out else [(row[0], row[-2], row[-1]) for row in cells]
    show(data, (heads[0], "predicted", "probability"), shown, Counter(filter(None, predicted)), probability)
    if numbers:
        column, labels = known_labels(trained, given, data)
        show_accuracy(trained, column, labels, numbers)
    if least is not None and predicted:
        abstained = predicted.count(None)
        echo(
            f"{len(predicted) - abstained:,} of {len(predicted):,} are predicted "
            f"({1 - abstained / len(predicted):.1%}, wanted {coverage:.1%}); the rest have no class, because the "
            "model is not confident enough about them."
        )
    if out:
        echo(f"Predictions: {out}")
    elif len(cells) > MAX_SHOWN:
        echo(f"These are the first {MAX_SHOWN}; --out predictions.csv writes all {len(cells):,}.")


def predictions(
    trained: "TrainedModel", data: Path, sep: str | None, encoding: str | None
) -> "tuple[Unlabeled, Scored]":
    import torch

    from reweigh.data.readers import read_unlabeled
    from reweigh.fit.scored import Scored, scored
    from reweigh.fit.source import source_of
    from reweigh.fit.trainer import find_device
    from reweigh.models.selective import selects
    from reweigh.training import progress

    form = trained.inputs
    as_trained = {key: value for key, value in trained.plan.source.options.items() if key in ("resize", "memory_gb")}
    given = read_unlabeled(
        data,
        form.shape,
        encoding=form.encoding,
        raw_bytes=form.bytes,
        sep=sep,
        charset=encoding,
        trained_on=source_of(trained.plan.source),
        **as_trained,
    )
    if len(given.inputs) == 0:
        return given, Scored(torch.empty(0, len(trained.class_names)), torch.empty(0))
    device = find_device("auto")
    samples = form.dataset(given.inputs, trained.class_names, trained.front, device, progress())
    if given.names and samples.origin is not None:  # some could not be read
        given = given._replace(inputs=samples.inputs, names=tuple(given.names[row] for row in samples.origin.tolist()))
    found = scored(trained.model.to(device), samples, device)
    return given, found.decided(trained.decision, selects(trained.model))


def known_labels(trained: "TrainedModel", given: "Unlabeled", data: Path) -> tuple[str, list[str]]:
    """Where the data have labels, and the label of each sample: a column, or folders of classes."""
    from reweigh.data.readers.table import USUAL_LABELS, gaps_as_none

    options = trained.plan.source.options
    if given.frame is not None:
        wanted = [options["label"]] if options.get("label") else USUAL_LABELS
        column = next((name for name in wanted if name in given.frame.columns), None)
        if column is None:
            return "", []
        return repr(column), ["" if value is None else str(value) for value in gaps_as_none(given.frame[column])]
    if given.names and data.is_dir() and not options.get("labels"):
        parts = [Path(name).parent.parts[::-1] for name in given.names]
        return "the names of folders", [
            next((part for part in each if part in trained.class_names), "") for each in parts
        ]
    return "", []


def show_accuracy(trained: "TrainedModel", where: str, texts: Sequence[str], predicted: Sequence[int]) -> None:
    import numpy as np
    from sklearn.metrics import balanced_accuracy_score

    from reweigh.data.tables.cells import spelling

    if not texts:
        return
    options, names = trained.plan.source.options, trained.class_names
    number = {name: place for place, name in enumerate(names)}
    number |= {f"{name}.0": place for name, place in number.items() if name.lstrip("-").isdigit()}
    if options.get("join_labels"):
        number = {spelling(name): place for name, place in number.items()}
    given = np.array([number.get(spelling(text) if options.get("join_labels") else text, -1) for text in texts])
    known, guess = given >= 0, np.array(predicted)
    if not known.any():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about predicted classes that no label has
        balanced = balanced_accuracy_score(given[known], guess[known])
    right = (given == guess)[known]
    echo(
        f"Compared with the {known.sum():,} labels in {where}, right or wrong: accuracy {right.mean():.1%}, "
        f"balanced accuracy {balanced:.1%}."
    )
    pairs = Counter(zip(given[known][~right].tolist(), guess[known][~right].tolist(), strict=True))
    rows = [[names[old], names[new], f"{count:,}"] for (old, new), count in pairs.most_common(MAX_PAIRS)]
    if rows:
        show_table("Most frequent differences", ["label", "predicted", "samples"], rows)


def calibrated_threshold(run: "Run", coverage: float) -> float:
    """The score that a sample must reach, from the scores of samples that the run did not train on."""
    import numpy as np
    import torch

    from reweigh.runs.tables import read_tested
    from reweigh.selective import threshold

    if not run.abstain.is_file():
        raise DataError(
            f"{run.path}: no {run.abstain.name}, so there is no threshold for --coverage: the run trained on all "
            "its samples; hold some out with: reweigh train RECIPE train.abstain=0.1"
        )
    held_out = read_tested(run.abstain)
    if held_out is None or held_out.score is None or bool(np.isnan(held_out.score).any()):
        raise DataError(f"{run.abstain}: a score is missing; is this file the one that the run wrote?")
    return threshold(torch.from_numpy(held_out.score), coverage)


def show(
    data: Path,
    heads: Sequence[str],
    cells: Sequence[tuple[str, str | None, str]],
    counts: Counter[str],
    probability: Sequence[float],
) -> None:
    if not probability:
        echo(f"{data}: no rows, so there is nothing to predict")
        return
    mean = sum(probability) / len(probability)
    echo(f"{data}: {plural(len(probability), 'sample')}, predicted with a probability of {mean:.0%} on average")
    for line in bars(dict(counts.most_common())):
        echo(line)
    if cells:
        shown = [(name, "(not sure)" if label is None else label, sure) for name, label, sure in cells[:MAX_SHOWN]]
        echo()
        show_table(
            f"First {MAX_SHOWN} predictions" if len(cells) > MAX_SHOWN else "Predictions",
            heads,
            [(name, label, f"{float(sure):.1%}") for name, label, sure in shown],
        )

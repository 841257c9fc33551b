"""Check that a dataset can be trained on: all mistakes in one error, before any training."""

import logging
from collections.abc import Sequence

import torch
from torch import Tensor

from reweigh.core.sparse import CandidateSets
from reweigh.data.dataset import Dataset
from reweigh.data.inputs import Inputs
from reweigh.errors import DataError
from reweigh.names import listed, plural

log = logging.getLogger(__name__)


def check(dataset: Dataset, what: str = "data") -> Dataset:
    """Return the dataset if it can be trained on: valid samples, at least two classes, no class empty.

    Samples may have no label (-1), or several candidates. Inputs that are not in memory are not read; their reader
    checks them.

    Raises:
        DataError: With every mistake found in labels and inputs.
    """
    raise_all([*sample_mistakes(dataset, lowest=-1), *class_mistakes(dataset)], what)
    if dataset.candidates is not None and (empty := int((dataset.candidates.counts == dataset.num_classes).sum())):
        log.info(
            "%s: %d of %d samples have every class as a candidate, so their labels carry no information",
            what,
            empty,
            len(dataset),
        )
    return dataset


def check_samples(dataset: Dataset, what: str = "data") -> Dataset:
    """Return the dataset if its samples are valid; classes may be empty, as in a test set."""
    raise_all(sample_mistakes(dataset), what)
    return dataset


def check_inputs(inputs: Inputs, what: str = "data") -> None:
    """Check inputs without labels."""
    raise_all(input_mistakes(inputs, len(inputs)) if len(inputs) else ["there are no samples"], what)


def raise_all(mistakes: Sequence[str], what: str) -> None:
    """Raise one DataError with all ``mistakes``, if there are any."""
    if len(mistakes) == 1:
        raise DataError(f"{what}: {mistakes[0]}")
    if mistakes:
        raise DataError(f"{what}: {len(mistakes)} mistakes\n" + "\n".join(f"  - {mistake}" for mistake in mistakes))


def sample_mistakes(dataset: Dataset, lowest: int = 0) -> list[str]:
    """What is wrong with single samples: labels of a wrong type or out of range, inputs that are not finite.

    Args:
        lowest: The lowest label allowed; -1 allows samples without a label.
    """
    labels = dataset.labels
    if labels.ndim != 1 or labels.dtype != torch.int64:
        return [f"labels: shape {tuple(labels.shape)} of {labels.dtype}; give one int64 per sample, shape (N,)"]
    if len(labels) == 0:
        return ["labels: there are no samples"]
    mistakes = range_mistakes(labels, dataset.num_classes, "labels", lowest)
    if dataset.candidates is not None:
        mistakes += candidate_mistakes(dataset.candidates, len(labels), dataset.num_classes)
    if dataset.true_labels is not None:
        if len(dataset.true_labels) != len(labels):
            mistakes.append(
                f"true labels: {len(dataset.true_labels)} for {plural(len(labels), 'label')}; give one per sample"
            )
        mistakes += range_mistakes(dataset.true_labels, dataset.num_classes, "true labels")
    return mistakes + input_mistakes(dataset.inputs, len(labels))


def class_mistakes(dataset: Dataset) -> list[str]:
    """Only one class, or classes without samples; labels that are not class numbers are not judged here."""
    labels, names = dataset.labels, dataset.class_names
    if labels.ndim != 1 or labels.dtype != torch.int64 or len(labels) == 0:
        return []
    labeled = int(dataset.labeled.sum())
    present = set(labels[dataset.labeled].unique().tolist())
    if isinstance(dataset.candidates, CandidateSets):  # a mask of the wrong type is reported elsewhere
        present = set(dataset.candidates.classes.unique().tolist())
    gaps = dataset.candidates is None and bool((labels == -1).any())
    if gaps and labeled < len(names):
        many = plural(labeled, "labeled sample")
        return [f"labels: {many} for {len(names)} classes; label at least one of each class"]
    if not gaps and len(present) == 1:
        only = present.pop()
        name = names[only] if 0 <= only < len(names) else only
        return [f"labels: only one class, {name!r}, in {plural(len(labels), 'sample')}; a classifier needs two or more"]
    absent = listed(repr(name) for number, name in enumerate(names) if number not in present)
    if not absent:
        return []
    found = f"no labeled sample of {absent}" if gaps else f"no samples of {absent}"
    known = f"{len(names)} classes, {plural(labeled, 'label')}" if gaps else f"{len(names)} classes"
    remedy = "label some" if gaps else "add some"
    return [f"labels: {found} (of {known}); {remedy}, or leave the class out of the class names"]


def candidate_mistakes(candidates: CandidateSets | Tensor, num_labels: int, num_classes: int) -> list[str]:
    """A mask of the wrong type (a tensor) or shape, or rows without a candidate."""
    if isinstance(candidates, Tensor) or candidates.shape != (num_labels, num_classes):
        kind = candidates.dtype if isinstance(candidates, Tensor) else torch.bool
        return [
            f"candidates: shape {tuple(candidates.shape)} of {kind}; "
            f"give true or false for each class, shape ({num_labels}, {num_classes})"
        ]
    rows = (candidates.counts == 0).nonzero().flatten().tolist()
    if not rows:
        return []
    return [
        f"candidates: none in {len(rows)} of {num_labels} samples: {at_rows(rows)}; "
        "name at least one class for each (all classes where nothing is known), or drop the rows"
    ]


def range_mistakes(labels: Tensor, num_classes: int, what: str, lowest: int = 0) -> list[str]:
    """Labels below ``lowest`` or beyond the last class, with their rows."""
    rows = ((labels < lowest) | (labels >= num_classes)).nonzero().flatten().tolist()
    if not rows:
        return []
    wrong = (f"{int(labels[row])} (row {row})" for row in rows)
    return [
        f"{what}: {len(rows)} outside 0..{num_classes - 1}: {listed(wrong)}; "
        "number the classes from 0, or name more classes"
    ]


def input_mistakes(inputs: Inputs, num_labels: int) -> list[str]:
    """Inputs that do not match the labels in number, or hold NaN or infinity, with their rows."""
    mistakes = []
    if len(inputs) != num_labels:
        mistakes.append(f"inputs: {len(inputs)} for {plural(num_labels, 'label')}; give one label per sample")
    if isinstance(inputs, Tensor) and inputs.is_floating_point():
        for trouble, found in (("NaN", inputs.isnan()), ("infinite", inputs.isinf())):
            rows = found.flatten(1).any(1).nonzero().flatten().tolist()
            if rows:
                mistakes.append(
                    f"inputs: {trouble} in {len(rows)} of {len(inputs)} samples: {at_rows(rows)}; "
                    "fill these values or drop the rows"
                )
    return mistakes


def at_rows(rows: Sequence[int]) -> str:
    """Row numbers for a message: "row 3", "rows 3, 8"."""
    return f"{'row' if len(rows) == 1 else 'rows'} {listed(rows)}"

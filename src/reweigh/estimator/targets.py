"""From y in any of its forms to class numbers, soft labels or sets of candidates; and how much each sample counts."""

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from reweigh.core.candidates import CandidateSets, at_once
from reweigh.data import one_of_each
from reweigh.data.dataset import candidate_mistakes, raise_all
from reweigh.data.labels.class_numbers import as_array, known
from reweigh.errors import DataError
from reweigh.issues.labelers import first_consensus
from reweigh.issues.votes import Votes
from reweigh.names import listed

logger = logging.getLogger(__name__)
SEVERAL_HINT = (
    "If each column is a labeler, pass reweigh.Votes.of(y). If each sample has several labels, fit one classifier per "
    "column: sklearn.multioutput.MultiOutputClassifier"
)
SEQUENCES = (list, tuple, set, dict, np.ndarray)
NUMBER_TYPES = (int, float, np.number, np.bool_)  # bool is an int
SLACK = 1e-3  # by which the sum of a soft label may differ from one


class Targets(NamedTuple):
    """The labels of some samples.

    Attributes:
        labels: Shape (N,) int64, indices into ``classes``; for soft labels the likeliest class; -1 means no label.
        classes: Shape (num_classes,), the labels as the user writes them, sorted.
        rows: Shape (N, num_classes), soft labels as given.
        candidates: Sets of candidates, if several labels are given; ``labels`` then has one label of each set.
    """

    labels: Tensor
    classes: np.ndarray
    rows: Tensor | None = None
    candidates: CandidateSets | None = None


def read_targets(y: Any, samples: int, unlabeled: bool = False) -> Targets:
    """The labels to train with.

    Args:
        y: N numbers, strings or booleans; or N x num_classes rows that sum to one, where the columns of a DataFrame
            name the classes.
        unlabeled: Whether -1 (as a number or a string), None and NaN mark samples without a label.
    """
    if y is None:
        raise DataError("RobustClassifier requires y to be passed, but the target y is None")
    array = plain_array(y, "y")
    if array.ndim == 2 and array.shape[1] > 1:
        targets = soft(array, getattr(y, "columns", None), "y")
    else:
        there = known(array.reshape(-1)) if unlabeled and array.ndim else np.ones(array.shape[:1], dtype=bool)
        found = hard(of_one_type(array if there.all() else array[there]), y, "y")
        if len(there) and not there.any():
            raise DataError(f"y: none of the {len(there)} samples has a label; label a few of each class")
        try:
            classes, indices = np.unique(found, return_inverse=True)
        except TypeError:
            kinds = sorted({type(value).__name__ for value in found.tolist()})
            raise DataError(f"y: labels of several types, {', '.join(kinds)}; make them all of one") from None
        check_classes(found)
        labels = torch.full((len(there),), -1, dtype=torch.int64)
        labels[torch.from_numpy(there)] = torch.from_numpy(indices.astype(np.int64))
        targets = Targets(labels, classes)
    check_length(len(targets.labels), samples, "y")
    given = targets.labels[targets.labels >= 0]
    if len(present := given.unique()) == 1:
        only = targets.classes[[int(present)]].tolist()[0]  # as Python writes it, not NumPy
        raise DataError(f"y: all {len(given)} labels are of one class, {only!r}; a classifier needs two or more")
    if (count := len(targets.classes)) > max(samples - 1, 2):
        raise DataError(f"y: {count} classes for {samples} samples; some class needs two samples or more")
    return targets


def read_consensus(votes: Votes, samples: int) -> Targets:
    """The consensus of several labelers, to begin training with; -1 for samples without a vote."""
    check_length(votes.samples, samples, "votes")
    _, labels = first_consensus(votes)
    if without := int((labels < 0).sum()):
        logger.info("votes: %d of %d samples have none; they are predicted, not trained on", without, samples)
    return Targets(labels, votes.classes)


def read_more_targets(y: Any, classes: np.ndarray, samples: int, what: str) -> Targets:
    """Labels of other samples, of classes that are known."""
    array = plain_array(y, what)
    if array.ndim == 2 and array.shape[1] > 1:
        targets = soft(array, getattr(y, "columns", None), what)
        if list(targets.classes) != list(classes):
            raise DataError(f"{what}: soft labels of classes {listed(targets.classes)}, but y has {listed(classes)}")
    else:
        index_of = {value: index for index, value in enumerate(classes.tolist())}
        indices = [index_of.get(value, -1) for value in hard(array, y, what).tolist()]
        if unknown := [row for row, index in enumerate(indices) if index < 0]:
            strange = sorted({repr(array.reshape(-1).tolist()[row]) for row in unknown})
            known = listed(map(repr, classes.tolist()))
            raise DataError(f"{what}: no class {listed(strange)} (rows {listed(unknown)}); the classes of y: {known}")
        targets = Targets(torch.tensor(indices, dtype=torch.int64), classes)
    check_length(len(targets.labels), samples, what)
    return targets


def plain_array(y: Any, what: str) -> np.ndarray:
    """The labels as an array of numbers, strings or booleans."""
    try:
        array = as_array(y)
    except ValueError:  # lists of different lengths
        array = None
    cells = array.flat if array is not None and array.dtype == object else ()
    several = next((cell for cell in cells if isinstance(cell, SEQUENCES)), None)
    if array is None or several is not None:
        such = "" if several is None else f", such as {str(several)[:40]}"
        raise DataError(
            f"{what}: labels are lists or the like{such}; pass one number, string or boolean per sample. If one of "
            "several candidates is right, pass a mask and candidates=True"
        )
    return array


def check_classes(labels: np.ndarray) -> None:
    """Raise a DataError if labels are quantities, with decimals, instead of classes."""
    try:
        check_classification_targets(labels)
    except ValueError as error:
        number = next((value for value in labels.tolist() if isinstance(value, float) and value % 1), labels[0])
        raise DataError(
            f"y: numbers such as {number:.6g} look like a quantity, not classes ({str(error).split('.')[0]}). A "
            "classifier needs classes: pd.cut(y, 5, labels=False) makes five of a quantity"
        ) from None


def hard(array: np.ndarray, y: Any, what: str) -> np.ndarray:
    """One label per sample, shape (N,), none of them missing."""
    import pandas as pd

    if array.ndim == 0:
        raise DataError(f"{what}: {y!r} is not an array; pass one label per sample")
    gone = ~np.isfinite(array) if array.dtype.kind == "f" else pd.isna(array)
    if gone.any():
        rows = np.flatnonzero(gone.reshape(len(array), -1).any(1))
        raise DataError(
            f"{what}: {len(rows)} of {len(array)} labels are missing (NaN, None or infinite): rows {listed(rows)}; "
            "label these rows or drop them"
        )
    return column_or_1d(array, warn=True)


def of_one_type(labels: np.ndarray) -> np.ndarray:
    """The labels; numbers or booleans of type object, as in a column that had gaps, get a type of their own."""
    if labels.dtype != object or not all(isinstance(value, NUMBER_TYPES) for value in labels.flat):
        return labels
    return np.array(labels.tolist())


def soft(array: np.ndarray, columns: Any, what: str) -> Targets:
    try:
        rows = torch.from_numpy(array.astype(np.float32))
    except (TypeError, ValueError):
        raise DataError(
            f"{what}: shape {array.shape} of {array.dtype}; pass one label per sample, shape (N,). {SEVERAL_HINT}"
        ) from None
    wrong = (~((rows.sum(1) - 1).abs() <= SLACK) | (rows < 0).any(1)).nonzero().flatten().tolist()  # NaN is wrong too
    if wrong:
        mask = "; a mask of candidate labels needs candidates=True" if bool(((rows == 0) | (rows == 1)).all()) else ""
        mask += f". {SEVERAL_HINT}" if bool((rows == rows.round()).all()) else ""
        raise DataError(
            f"{what}: shape {array.shape}, so each row should be the probabilities of the classes, at least 0 and with "
            f"sum 1; rows {listed(wrong)} are not{mask}"
        )
    return Targets(rows.argmax(1), np.arange(array.shape[1]) if columns is None else np.asarray(columns), rows)


def check_length(labels: int, samples: int, what: str) -> None:
    """Raise a DataError unless there is one label per sample."""
    if labels != samples:
        raise DataError(f"{what}: {labels} labels for {samples} samples; pass one per sample (inconsistent numbers)")


def read_candidates(y: Any, samples: int) -> Targets:
    """The candidate labels to train with.

    Args:
        y: N x num_classes, true or 1 where a class may be the right one, possibly a sparse array of SciPy; the columns
            of a DataFrame name the classes, otherwise they are 0, 1, ...
    """
    array = y.tocsr() if issparse(y) else as_array(y)
    if array.ndim != 2 or array.shape[1] < 2:
        raise DataError(
            f"y: shape {array.shape}; with candidates=True it should be a mask, true where a class may be the right "
            "one, shape (N, num_classes)"
        )
    check_length(array.shape[0], samples, "y")
    step = at_once(array.shape[1])
    sets = CandidateSets.of_masks(
        (mask(array[first : first + step], first) for first in range(0, samples, step)), array.shape[1]
    )
    columns = getattr(y, "columns", None)
    classes = np.arange(array.shape[1]) if columns is None else np.asarray(columns)
    raise_all(candidate_mistakes(sets, samples, len(classes)), "y")
    if len(unused := np.setdiff1d(np.arange(len(classes)), sets.classes.numpy())):
        raise DataError(
            f"y: class {listed(map(repr, classes[unused].tolist()))} is not a candidate of any sample; drop it"
        )
    if useless := int((sets.counts == len(classes)).sum()):
        logger.info(
            "y: %d of %d samples have every class as a candidate, which carries no information", useless, samples
        )
    if useless == samples:
        raise DataError(f"y: all {samples} samples have every class as a candidate; there is nothing to learn from")
    return Targets(one_of_each(sets), classes, candidates=sets)


def mask(rows: Any, first: int) -> Tensor:
    """Some rows of a mask, as an array or a sparse array."""
    try:
        numbers = (rows.toarray() if issparse(rows) else rows).astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"y: a mask of {rows.dtype}; pass true and false, or 1 and 0") from None
    if len(wrong := np.flatnonzero(((numbers != 0) & (numbers != 1)).any(1))):  # NaN is wrong too
        raise DataError(
            f"y: with candidates=True all values should be true or false, 1 or 0; rows {listed(first + wrong)} are not"
        )
    return torch.from_numpy(numbers == 1)


def undecided(labels: np.ndarray, doubtful: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Labels with -1 for the doubtful ones, or None where labels are not numbers or -1 is one of the classes."""
    signed = np.result_type(labels.dtype, np.int8) if np.issubdtype(labels.dtype, np.number) else None
    if signed is not None and signed.kind in (labels.dtype.kind, "i") and not (classes == -1).any():
        labels = labels.astype(signed)  # a type that has negative numbers; the largest unsigned ones have none
        labels[doubtful] = -1
        return labels
    labels = labels.astype(object)
    labels[doubtful] = None
    return labels


def read_weights(sample_weight: Any, class_weight: Any, targets: Targets) -> Tensor | None:
    """The factor of each sample's loss, shape (N,); None if all are 1.

    Args:
        sample_weight: N numbers of at least zero, or None.
        class_weight: A dict from class to weight, or "balanced": N / (num_classes * N_class). It is 1 for samples
            without a label, and the mean over the candidates of a sample.
    """
    if not isinstance(class_weight, Mapping | None) and str(class_weight) != "balanced":
        raise DataError(f"class_weight: got {class_weight!r}; pass a dict from class to weight, or 'balanced'")
    samples = len(targets.labels)
    weights = np.ones(samples) if sample_weight is None else checked(sample_weight, samples)
    if class_weight is not None:
        weights *= by_sample(class_weight, targets)
    if (weights == 1).all():
        return None
    counts = torch.from_numpy(weights > 0)
    if targets.candidates is None:
        counted = targets.labels[counts & (targets.labels >= 0)].unique()
    else:
        counted = targets.candidates.subset(counts).classes.unique()
    if len(counted) == 0:
        raise DataError("sample_weight: all weights are zero; give at least two classes a weight above zero")
    if len(counted) == 1:
        only = targets.classes[int(counted)]
        raise DataError(f"sample_weight: above zero for class {only} only; a classifier needs two classes")
    mean = weights[weights > 0].mean()
    if not 1e-6 <= mean <= 1e6:
        raise DataError(
            f"sample_weight: {mean:.1e} on average. The loss of each sample is multiplied by its weight, so the "
            "network would not learn, or diverge; divide the weights by their mean"
        )
    return torch.from_numpy(weights.astype(np.float32))


def checked(sample_weight: Any, samples: int) -> np.ndarray:
    try:
        weights = np.array(sample_weight, dtype=np.float64)  # a copy
    except (TypeError, ValueError):
        raise DataError("sample_weight: not numbers; pass one number per sample, at least 0") from None
    if weights.shape != (samples,):
        raise DataError(f"sample_weight: shape {weights.shape} for {samples} samples; pass one number per sample")
    for trouble, wrong in (("NaN or infinite", ~np.isfinite(weights)), ("negative", weights < 0)):
        if wrong.any():
            rows = np.flatnonzero(wrong)
            found = f"{len(rows)} of {samples} are {trouble}: rows {listed(rows)}"
            raise DataError(f"sample_weight: {found}; pass numbers of at least 0")
    return weights


def by_sample(class_weight: Any, targets: Targets) -> np.ndarray:
    """The weight of each sample's class, shape (N,)."""
    if targets.candidates is None:
        labels = targets.labels.numpy()
        labeled = labels[labels >= 0]
        weights = np.ones(len(labels))
        weights[labels >= 0] = by_class(class_weight, targets, targets.classes[labeled])[labeled]
        return weights
    sets, counts = targets.candidates.classes.numpy(), targets.candidates.counts.numpy()
    rows, shares = np.arange(len(counts)).repeat(counts), (1 / counts).repeat(counts)
    if class_weight == "balanced":
        weights = len(counts) / (len(targets.classes) * np.bincount(sets, shares, len(targets.classes)))
    else:
        weights = by_class(class_weight, targets, targets.classes)
    return np.bincount(rows, shares * weights[sets], len(counts))


def by_class(class_weight: Any, targets: Targets, given: np.ndarray) -> np.ndarray:
    """The weight of each class, shape (num_classes,); one for a class that is not among those given."""
    present = np.isin(targets.classes, given)
    weights = np.ones(len(targets.classes))
    weights[present] = compute_class_weight(class_weight, classes=targets.classes[present], y=given)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError(f"class_weight: {class_weight}; pass numbers of at least 0")
    return weights

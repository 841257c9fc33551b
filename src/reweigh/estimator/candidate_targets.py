"""From a mask of candidate labels, a row a sample, to targets."""

import logging
from typing import Any

import numpy as np
import torch

from reweigh.data import one_of_each
from reweigh.data.checks import candidate_mistakes, listed, raise_all
from reweigh.data.labels.class_numbers import as_array
from reweigh.errors import DataError
from reweigh.estimator.targets import Targets, check_length

log = logging.getLogger(__name__)


def read_candidates(y: Any, samples: int) -> Targets:
    """The candidate labels to train with.

    Args:
        y: N x num_classes, true or 1 where the class may be the right one; the columns of a DataFrame name the classes,
            otherwise they are 0, 1, ...
        samples: N, as X has them.

    Raises:
        DataError: it is no such mask, a sample has no candidate, or a class is nobody's.
    """
    array = as_array(y)
    if array.ndim != 2 or array.shape[1] < 2:
        raise DataError(
            f"y: shape {array.shape}; with candidates=True it should be a mask, true where a class may be the right "
            "one, shape (N, num_classes)"
        )
    check_length(len(array), samples, "y")
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"y: a mask of {array.dtype}; give true and false, or 1 and 0") from None
    if len(wrong := np.flatnonzero(((numbers != 0) & (numbers != 1)).any(1))):  # NaN is wrong too
        raise DataError(
            f"y: with candidates=True all values should be true or false, 1 or 0; rows {listed(wrong)} are not"
        )
    mask = torch.from_numpy(numbers == 1)
    columns = getattr(y, "columns", None)
    classes = np.arange(mask.shape[1]) if columns is None else np.asarray(columns)
    raise_all(candidate_mistakes(mask, samples, len(classes)), "y")
    if len(nobody := np.flatnonzero(~mask.any(0).numpy())):
        raise DataError(
            f"y: class {listed(map(repr, classes[nobody].tolist()))} is no candidate of any sample; drop it"
        )
    if useless := int(mask.all(1).sum()):
        log.info("y: %d of %d samples have every class as a candidate, which says nothing", useless, samples)
    if useless == samples:
        raise DataError(f"y: all {samples} samples have every class as a candidate; there is nothing to learn from")
    return Targets(one_of_each(mask), classes, candidates=mask)

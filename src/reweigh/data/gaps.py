"""Labels of which some are missing on purpose: the samples that semi-supervised learning has besides."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.data.labels import as_array, encode
from reweigh.errors import DataError


def known(values: np.ndarray) -> np.ndarray:
    """Which values are labels, shape (N,) bool; -1, as a number or a text, an empty text, None and NaN are none.

    Args:
        values: shape (N,), of any type.
    """
    import pandas as pd

    def is_one(value: Any) -> bool:
        return (value.strip() if isinstance(value, str) else value) not in ("", "-1", -1)

    missing = pd.isna(values)
    return np.array([not gone and is_one(value) for value, gone in zip(values.tolist(), missing, strict=True)])


def encode_known(
    values: Any, class_names: Sequence[str] | None = None, what: str = "labels"
) -> tuple[Tensor, tuple[str, ...]]:
    """Number the classes as ``encode`` does; -1 where there is no label.

    Raises:
        DataError: no label is there, or one is no class.
    """
    array = as_array(values).reshape(-1)
    there = known(array)
    if not there.any():
        raise DataError(f"{what}: all {len(array)} are missing; label a few samples of each class")
    found = array[there]
    if found.dtype == object:  # a column of numbers with gaps holds floats
        whole = all(
            isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
            for value in found.tolist()
        )
        found = found.astype(np.int64) if whole else found
    numbers, names = encode(found, class_names, what)
    labels = torch.full((len(array),), -1, dtype=torch.int64)
    labels[torch.from_numpy(there)] = numbers
    return labels, names

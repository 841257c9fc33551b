"""NumPy arrays and torch tensors as a dataset, and the arrays of ``.npz`` and ``.npy`` files."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.data.dataset import Dataset, check, check_samples
from reweigh.data.inputs import MAX_FLOAT, MIN_FLOAT, normalize_like
from reweigh.data.labels.class_numbers import encode
from reweigh.errors import DataError
from reweigh.files.limits import check_archive, check_file

FLOAT32_STEP = float(np.finfo(np.float32).eps)  # relative distance of two neighbors


def from_arrays(
    inputs: Any,
    labels: Any,
    *,
    class_names: Sequence[str] | None = None,
    true_labels: Any = None,
    normalize: Callable[[Tensor], Tensor] | None = None,
    unlabeled: bool = False,
    what: str = "arrays",
) -> Dataset:
    """A dataset from anything that NumPy or torch can convert to arrays; inputs of the right type are not copied.

    Args:
        inputs: Features (N, D), or images (N, H, W), (N, C, H, W) or (N, H, W, C); bytes stay bytes, other numbers
            become float32.
        labels: N numbers or names.
        class_names: Class names; by default the distinct labels. Given classes may have no samples, as in a test set.
        true_labels: N numbers or names, where they are known.
        normalize: Normalization of batches; by default to mean 0 and standard deviation 1 per channel or feature,
            clipped for features.
        unlabeled: Whether labels may be missing (-1, None, NaN).
        what: Name of the data in messages.

    Raises:
        DataError: With every mistake in labels and inputs.
    """
    numbers, names = encode(labels, class_names, f"{what}: labels", unlabeled=unlabeled)
    if mistake := precision_mistake(inputs):
        raise DataError(f"{what}: {mistake}, or give a table")
    tensor = channels_first(as_tensor(inputs, what))
    true = None if true_labels is None else encode(true_labels, names, f"{what}: true labels")[0]
    dataset = Dataset(tensor, numbers, names, true)
    (check if class_names is None or unlabeled else check_samples)(dataset, what)
    return replace(dataset, normalize=normalize or normalize_like(tensor))


def precision_mistake(inputs: Any) -> str:
    """Which column of rows of numbers float32 cannot hold: 1e300, 1e-40, or 1e9 plus a number of about 1; or ""."""
    array = inputs if isinstance(inputs, np.ndarray) else np.empty(0)
    if array.ndim != 2 or array.dtype.kind not in "iuf" or array.dtype.itemsize < 4 or not len(array):
        return ""
    remedy = "first (scikit-learn's StandardScaler does)"
    with np.errstate(all="ignore"):  # numbers that are not finite are reported elsewhere
        spread, largest = array.std(0, dtype=np.float64), np.abs(array).max(0).astype(np.float64)
        if (beyond := np.flatnonzero((largest > MAX_FLOAT) & np.isfinite(largest))).size:
            return f"column {beyond[0]} has values up to {largest[beyond[0]]:.1e}; divide it by a constant {remedy}"
        if (below := np.flatnonzero((largest < MIN_FLOAT / FLOAT32_STEP) & (largest > 0))).size:
            return f"column {below[0]} has values up to {largest[below[0]]:.1e}; multiply it by a constant {remedy}"
        doubtful = np.flatnonzero((spread < 1e-5 * largest) & (spread > 1e-12 * largest))  # less is noise of float64
        for column in doubtful.tolist():
            values = array[:, column].astype(np.float64)
            if (values - values.astype(np.float32)).std() > 0.1 * spread[column]:
                return (
                    f"column {column} has values of about {largest[column]:.1e} that differ by about "
                    f"{spread[column]:.1e}, which float32 cannot tell apart; subtract its mean {remedy}"
                )
    return ""


def as_tensor(inputs: Any, what: str) -> Tensor:
    """Bytes as bytes, numbers as float32."""
    tensor = inputs
    if not isinstance(inputs, Tensor):
        try:
            array = np.asarray(inputs)
        except ValueError as error:  # rows of different lengths
            raise DataError(f"{what}: inputs do not form an array ({error}); give all samples the same shape") from None
        if array.dtype.kind not in "biuf":
            raise DataError(
                f"{what}: inputs of type {array.dtype}; give numbers, or read strings and categories as a table"
            )
        if array.dtype != np.uint8:
            array = array.astype(np.float32, copy=False)
        if not array.flags.writeable:  # torch warns about tensors that share read-only memory
            array = array.copy()
        tensor = torch.from_numpy(np.ascontiguousarray(array))
    if tensor.ndim < 2:
        raise DataError(f"{what}: inputs of shape {tuple(tensor.shape)}; give (N, D) features or (N, C, H, W) images")
    return tensor if tensor.dtype == torch.uint8 else tensor.float()


def channels_first(inputs: Tensor) -> Tensor:
    """Add a channel to gray images, and move channels from the end to the front; anything else stays."""
    if inputs.ndim == 3 and inputs.dtype == torch.uint8:
        return inputs[:, None]
    if inputs.ndim == 4 and inputs.shape[1] not in (1, 3, 4) and inputs.shape[3] in (1, 3, 4):
        return inputs.permute(0, 3, 1, 2).contiguous()
    return inputs


def load(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """The array of a ``.npy`` or all arrays of a ``.npz``; nothing is unpickled."""
    check_file(path)
    check_archive(path)
    try:
        with open(path, "rb") as file:
            found = np.load(file, allow_pickle=False)
            return found if isinstance(found, np.ndarray) else {key: found[key] for key in found.files}
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except Exception as error:  # zipfile, zlib, struct and numpy each raise their own for a broken file
        remedy = (
            "store plain numbers or strings instead of objects"
            if "pickle" in str(error)
            else "write or copy the file again"
        )
        raise DataError(f"{path}: cannot be read as a NumPy file ({error}); {remedy}") from error

"""A torch ``Dataset`` or Hugging Face dataset as a dataset of reweigh."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.data.arrays import channels_first
from reweigh.data.checks import check, check_samples, listed
from reweigh.data.dataset import Dataset
from reweigh.data.labels.class_numbers import encode
from reweigh.data.normalize import standardize_like
from reweigh.data.on_demand import DEFAULT_MEMORY_GB, OnDemand, fits, some_of
from reweigh.errors import DataError

INPUT_COLUMNS = ("image", "img", "inputs", "x", "pixel_values", "features")
LABEL_COLUMNS = ("label", "labels", "fine_label", "target", "y")
AT_ONCE = 1000  # samples that are read together


def from_torch(
    dataset: Any,
    *,
    inputs: str | None = None,
    label: str | None = None,
    class_names: Sequence[str] | None = None,
    normalize: Callable[[Tensor], Tensor] | None = None,
    memory_gb: float = DEFAULT_MEMORY_GB,
    workers: int = 1,
) -> Dataset:
    """A dataset whose samples are pairs (input, label) or dictionaries with a column for each.

    Inputs may be tensors, arrays or Pillow images, all of one shape. They are read once to learn the labels; what fits
    in ``memory_gb`` stays in memory, otherwise samples are read again when batches ask for them.

    Args:
        dataset: object with a length that returns a sample for an index.
        inputs: the column of inputs, for samples that are dictionaries; by default one of ``INPUT_COLUMNS``.
        label: the column of labels; by default one of ``LABEL_COLUMNS``.
        class_names: class names; by default those of the Hugging Face dataset, the ``classes`` of a torchvision
            dataset, or the distinct labels.
        normalize: normalization of batches; by default to mean 0 and standard deviation 1 per channel or feature.
        memory_gb: gigabytes that the inputs may take in memory.
        workers: number of threads that read; more than one only if the dataset is thread-safe.

    Raises:
        DataError: no length, samples of another kind, inputs of different shapes, or mistakes in labels and inputs.
    """
    what = type(dataset).__name__
    try:
        length = len(dataset)
    except TypeError:
        raise DataError(f"{what}: has no length; a dataset that only streams must be saved first") from None
    if length == 0:
        raise DataError(f"{what}: has no samples")

    def sample(index: int) -> tuple[Any, Any]:
        return pair(dataset[index], inputs, label, what)

    first = as_input(sample(0)[0], what)
    labels: list[Any] = [None] * length

    def read_one(index: int) -> Tensor:
        value, labels[index] = sample(index)
        tensor = as_input(value, what)
        if tensor.shape != first.shape:
            raise DataError(
                f"{what}: sample {index} has shape {tuple(tensor.shape)}, sample 0 {tuple(first.shape)}; "
                "give all samples the same shape, with a resizing transform"
            )
        return tensor.to(first.dtype)

    source = OnDemand(read_one, length, tuple(first.shape), first.dtype, workers)
    if fits(length, source.shape, source.dtype, memory_gb):
        raw = source.in_memory()
    else:
        raw = source
        for index in torch.arange(length).split(AT_ONCE):  # only for the labels
            source[index]
    class_names = class_names or known_names(dataset, label)
    numbers, names = encode(labels, class_names, f"{what}: labels")
    (check if class_names is None else check_samples)(Dataset(raw, numbers, names), what)
    return Dataset(raw, numbers, names, normalize=normalize or standardize_like(some_of(raw)))


def pair(sample: Any, inputs: str | None, label: str | None, what: str) -> tuple[Any, Any]:
    """Input and label of one sample."""
    if isinstance(sample, dict):
        value = column(sample, inputs, INPUT_COLUMNS, "inputs", what)
        return value, column(sample, label, LABEL_COLUMNS, "label", what)
    if isinstance(sample, tuple | list) and len(sample) >= 2:
        return sample[0], sample[1]
    raise DataError(
        f"{what}: a sample is of type {type(sample).__name__}; it must be (input, label) or a dictionary of both"
    )


def column(sample: dict[str, Any], wanted: str | None, usual: Sequence[str], what: str, where: str) -> Any:
    """The value of the column called ``wanted``, or of the first with a usual name."""
    for name in (wanted,) if wanted else usual:
        if name in sample:
            return sample[name]
    names = repr(wanted) if wanted else f"one of {', '.join(usual)}"
    raise DataError(f"{where}: no column of {what} called {names}; there are: {listed(sample)}. Give {what}=...")


def as_input(value: Any, what: str) -> Tensor:
    """One input as bytes or float32, channels first."""
    if not isinstance(value, Tensor):
        array = np.array(value)
        if array.dtype.kind not in "biuf":
            raise DataError(
                f"{what}: inputs of type {type(value).__name__} are not numbers; read strings and categories as a table"
            )
        value = torch.from_numpy(array if array.dtype == np.uint8 else array.astype(np.float32))
    if value.ndim == 0:
        value = value[None]
    value = value if value.dtype == torch.uint8 else value.float()
    return channels_first(value[None])[0]


def known_names(dataset: Any, label: str | None) -> Sequence[str] | None:
    """The class names that the dataset itself provides."""
    features = getattr(dataset, "features", None)
    if isinstance(features, dict):
        for name in (label,) if label else LABEL_COLUMNS:
            if name in features:
                return getattr(features[name], "names", None)
    classes = getattr(dataset, "classes", None)
    return [str(name) for name in classes] if isinstance(classes, list | tuple) else None

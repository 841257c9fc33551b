"""Arrays in ``.npz`` and ``.npy`` files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reweigh.data.arrays import as_tensor, channels_first, from_arrays, load
from reweigh.data.checks import listed
from reweigh.data.dataset import Dataset
from reweigh.data.readers.reader import Form, Reader, Request, Unlabeled, UnlabeledReader, describe
from reweigh.errors import DataError

INPUT_KEYS = ("inputs", "X", "x", "images", "features", "data")
LABEL_KEYS = ("labels", "y", "Y", "targets", "target", "label")


def read_arrays(
    path: str | Path,
    labels: Any = None,
    *,
    inputs: str | None = None,
    label: str | None = None,
    class_names: Sequence[str] | None = None,
    unlabeled: bool = False,
) -> Dataset:
    """A dataset from a ``.npz`` with inputs and labels, or from a ``.npy`` of inputs with labels from elsewhere.

    Args:
        labels: N numbers or names; needed for a ``.npy``, otherwise in place of those in the file.
        inputs: name of the inputs in a ``.npz``; otherwise one of ``INPUT_KEYS``.
        label: name of the labels in a ``.npz``; otherwise one of ``LABEL_KEYS``.
        unlabeled: a label of -1 is none.

    Raises:
        DataError: the file is broken, lacks an array, or holds pickled objects.
    """
    path = Path(path)
    found = load(path)
    if isinstance(found, np.ndarray):
        if labels is None:
            raise DataError(f"{path}: inputs without labels; store both in one .npz, or give a label file", "labels")
        return from_arrays(found, labels, class_names=class_names, unlabeled=unlabeled, what=str(path))
    if class_names is None and "class_names" in found:
        class_names = [str(name) for name in found["class_names"]]
    return from_arrays(
        pick(found, inputs, INPUT_KEYS, "inputs", path),
        pick(found, label, LABEL_KEYS, "labels", path) if labels is None else labels,
        class_names=class_names,
        true_labels=found.get("true_labels"),
        unlabeled=unlabeled,
        what=str(path),
    )


def pick(found: dict[str, np.ndarray], wanted: str | None, usual: Sequence[str], what: str, path: Path) -> np.ndarray:
    """The array called ``wanted``, or the first with a usual name."""
    for key in (wanted,) if wanted else usual:
        if key in found:
            return found[key]
    names = repr(wanted) if wanted else f"one of {', '.join(usual)}"
    raise DataError(f"{path}: no {what} called {names}; the file has: {listed(found)}. Name the array to use")


def read_inputs(path: Path, form: Form) -> Unlabeled:
    """The inputs of a ``.npz`` or ``.npy`` file, in shape and type of the training inputs."""
    if form.encoding is not None:
        raise form.mismatch(path, "arrays")
    found = load(path)
    array = pick(found, None, INPUT_KEYS, "inputs", path) if isinstance(found, dict) else found
    inputs = channels_first(as_tensor(array, str(path)))
    if inputs.shape[1:] != form.shape:
        raise form.mismatch(path, describe(tuple(inputs.shape[1:])), "give data of that shape")
    if (inputs.dtype == torch.uint8) != form.raw_bytes:
        kinds = ("bytes (uint8, 0 to 255)", "floats")
        trained, got = kinds if form.raw_bytes else reversed(kinds)
        raise DataError(f"{path}: {got}, but the model was trained on {trained}; store the inputs as {trained}")
    return Unlabeled(inputs)


def _recognizes(path: Path) -> bool:
    return path.is_file() and path.suffix in (".npz", ".npy")


def _read(path: Path, request: Request) -> Dataset:
    return read_arrays(
        path,
        request.labels,
        label=request.label,
        class_names=request.class_names,
        unlabeled=request.unlabeled,
    )


READER = Reader(
    about="arrays (.npz, or .npy with a label file)",
    recognizes=_recognizes,
    read=_read,
    has_labels=lambda path, label: path.suffix == ".npz",
    unlabeled=UnlabeledReader("arrays (.npz, .npy)", _recognizes, read_inputs),
)

"""Arrays in ``.npz`` and ``.npy`` files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from reweigh.data.arrays import as_tensor, channels_first, from_arrays, load
from reweigh.data.dataset import Dataset, listed
from reweigh.data.readers.reader import Form, Reader, Request, Unlabeled, UnlabeledReader, describe
from reweigh.errors import DataError

INPUT_KEYS = ("inputs", "X", "x", "images", "features", "data")
LABEL_KEYS = ("labels", "y", "Y", "targets", "target", "label")


def read_arrays(path: Path, request: Request) -> Dataset:
    """A dataset from a ``.npz`` with inputs and labels, or from a ``.npy`` of inputs with labels from elsewhere."""
    found, what = load(path), str(path)
    names, labels, true_labels = request.class_names, request.labels, None
    if isinstance(found, np.ndarray):
        inputs = found
        if labels is None:
            raise DataError(f"{what}: inputs without labels; store both in one .npz, or give a label file", "labels")
    else:
        inputs = pick(found, None, INPUT_KEYS, "inputs", path)
        labels = pick(found, request.source.label, LABEL_KEYS, "labels", path) if labels is None else labels
        true_labels = found.get("true_labels")
        if names is None and "class_names" in found:
            names = [str(name) for name in found["class_names"]]
    return from_arrays(
        inputs, labels, class_names=names, true_labels=true_labels, unlabeled=request.unlabeled, what=what
    )


def pick(found: dict[str, np.ndarray], wanted: str | None, usual: Sequence[str], what: str, path: Path) -> np.ndarray:
    """The array called ``wanted``, or the first with a usual name."""
    for key in (wanted,) if wanted else usual:
        if key in found:
            return found[key]
    names = repr(wanted) if wanted else f"one of {', '.join(usual)}"
    remedy = "Give label=..." if what == "labels" else "Rename the array of inputs"
    raise DataError(f"{path}: no {what} called {names}; the file has: {listed(found)}. {remedy}")


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


READER = Reader(
    about="arrays (.npz, or .npy with a label file)",
    recognizes=_recognizes,
    read=read_arrays,
    has_labels=lambda source: source.path.suffix == ".npz",
    unlabeled=UnlabeledReader("arrays (.npz, .npy)", _recognizes, read_inputs),
)

"""Files and arrays into one dataset type; the datasets known by name."""

from collections.abc import Callable

from reweigh.data.arrays import from_arrays
from reweigh.data.candidates import one_of_each, with_candidates
from reweigh.data.checks import check, check_samples
from reweigh.data.dataset import Dataset, Inputs, Splits
from reweigh.data.digits import digits
from reweigh.data.few_labels import few_labels, with_label
from reweigh.data.files import files
from reweigh.data.foreign import replace_inputs
from reweigh.data.inspect import inspect
from reweigh.data.official import official
from reweigh.data.read import read
from reweigh.data.table import from_frame
from reweigh.data.torch_dataset import from_torch

# name -> function(root, *, options) -> Splits
DATASETS: dict[str, Callable[..., Splits]] = {
    "cifar10": official(
        "cifar10", "Photographs of 10 kinds of things, 32 x 32 in color, 50,000 to train and 10,000 to test."
    ),
    "cifar100": official(
        "cifar100", "Photographs of 100 kinds of things, 32 x 32 in color, 50,000 to train and 10,000 to test."
    ),
    "digits": digits,
    "fashion-mnist": official(
        "fashion-mnist", "Clothes of 10 kinds, 28 x 28 in gray, 60,000 to train and 10,000 to test."
    ),
    "files": files,
    "kmnist": official("kmnist", "Cursive Japanese letters, 28 x 28 in gray, 60,000 to train and 10,000 to test."),
    "mnist": official("mnist", "Handwritten digits, 28 x 28 in gray, 60,000 to train and 10,000 to test."),
}

__all__ = [
    "DATASETS",
    "Dataset",
    "Inputs",
    "Splits",
    "check",
    "check_samples",
    "few_labels",
    "from_arrays",
    "from_frame",
    "from_torch",
    "inspect",
    "one_of_each",
    "read",
    "replace_inputs",
    "with_candidates",
    "with_label",
]

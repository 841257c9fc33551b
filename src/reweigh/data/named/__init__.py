"""The datasets that a recipe can name: benchmarks, scikit-learn's digits, and the user's own files."""

from collections.abc import Callable

from reweigh.data.dataset import Splits
from reweigh.data.named.official import digits, official_files
from reweigh.data.named.own_files import files

# name -> function(root, *, options) -> Splits
DATASETS: dict[str, Callable[..., Splits]] = {
    "cifar10": official_files(
        "cifar10", "Photographs of 10 kinds of objects, 32 x 32 in color; 50,000 for training, 10,000 for testing."
    ),
    "cifar100": official_files(
        "cifar100", "Photographs of 100 kinds of objects, 32 x 32 in color; 50,000 for training, 10,000 for testing."
    ),
    "digits": digits,
    "fashion-mnist": official_files(
        "fashion-mnist", "Clothes of 10 kinds, 28 x 28 in gray; 60,000 for training, 10,000 for testing."
    ),
    "files": files,
    "kmnist": official_files(
        "kmnist", "Cursive Japanese letters, 28 x 28 in gray; 60,000 for training, 10,000 for testing."
    ),
    "mnist": official_files("mnist", "Handwritten digits, 28 x 28 in gray; 60,000 for training, 10,000 for testing."),
}

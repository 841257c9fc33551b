"""Choices that the size of the data makes where the user makes none; fixed rules, the same on every machine."""

from math import ceil, log2
from typing import Any

from torch import Tensor

from reweigh.data.dataset import is_image

LEARNING_RATE = 1e-3  # of AdamW, falling along a cosine
STEPS = 1000  # that small data are trained for, as far as EPOCHS allow
EPOCHS = (20, 50)  # at least, at most
BATCH = (16, 256)
WIDTHS = ((2_000, 64), (20_000, 128))  # samples below this number: width of the hidden layers; otherwise 256
DROPOUT = 0.2
FIRST_LAYER = 4_000_000  # parameters of it, at most
METHOD_OPTIONS = {  # of methods that have such options; tables that are hard to learn settle late, see docs/results.md
    "lookahead": "real",
    "engine": "difference",
    "settled": 0.975,
}


def default_batch_size(samples: int) -> int:
    """About fifty steps an epoch: a power of two from 16 to 256, or all samples if they are fewer."""
    low, high = BATCH
    wanted = 2 ** round(log2(max(samples / 50, 1)))
    return min(max(low, min(wanted, high)), samples)


def default_epochs(samples: int, batch_size: int) -> int:
    """As many as come to 1,000 steps, but from 20 to 50: the longer, the more wrong labels are memorized."""
    low, high = EPOCHS
    return max(low, min(round(STEPS / ceil(samples / batch_size)), high))


def warm_up_epochs(epochs: int) -> int:
    """A tenth, trained plainly before any weights are learned; at least one, and never all."""
    return min(max(1, round(0.1 * epochs)), epochs - 1)


def trusted_per_class(class_sizes: Tensor) -> int:
    """Ten samples of each class are trusted, as in the paper, but at most half of a class of middle size."""
    sizes = class_sizes[class_sizes > 0]
    return max(1, min(10, int(sizes.median()) // 2))


def default_module(shape: tuple[int, ...], samples: int) -> tuple[str, dict[str, Any]]:
    """The name of a model and its options: a convolutional net for images, a perceptron of two layers for the rest.

    Args:
        shape: of one sample.
        samples: the fewer, the narrower the perceptron; with many features it is narrower too.
    """
    if is_image(shape) and min(shape[1:]) >= 4:
        return "cnn", {}
    features = 1
    for size in shape:
        features *= size
    wide = next((width for below, width in WIDTHS if samples < below), 256)
    width = max(16, min(wide, FIRST_LAYER // features))
    return "mlp", {"hidden": (width, width), "dropout": DROPOUT}

"""In which order samples are shown."""

from collections.abc import Callable

import numpy as np

ITS_OWN = 20_220_205  # seed: small ones may have chosen the wrong labels of an experiment too


def doubtful(quality: np.ndarray, suggested: np.ndarray) -> np.ndarray:
    """The worst label first: finds the most wrong labels with the fewest looks."""
    return np.argsort(quality, kind="stable")


def informative(quality: np.ndarray, suggested: np.ndarray) -> np.ndarray:
    """The least certain label first, the classes in turn: what training cannot find out by itself.

    A label that is almost certainly wrong, or right, is already treated as such. Classes are those that training
    suggests, so that each of them gets trusted samples.
    """
    certain = np.argsort(np.abs(quality - 0.5), kind="stable")
    grouped = certain[np.argsort(suggested[certain], kind="stable")]
    sizes = np.bincount(suggested)
    place = np.arange(len(grouped)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # 0, 1, ... within each class
    return grouped[np.lexsort((np.abs(quality[grouped] - 0.5), place))]


def random(quality: np.ndarray, suggested: np.ndarray) -> np.ndarray:
    """Any label: what is found is a fair sample of the data."""
    return np.random.default_rng(ITS_OWN).permutation(len(quality))


# Each: quality of the given label and suggested class, shape (N,), -> indices of the samples, shape (N,).
ORDERS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "doubtful": doubtful,
    "informative": informative,
    "random": random,
}

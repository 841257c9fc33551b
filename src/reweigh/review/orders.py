"""The order in which labels are reviewed."""

from collections.abc import Callable, Sequence

import numpy as np

REVIEW_ORDER_SEED = 20_220_205  # its own: a small one may have chosen the wrong labels of an experiment too


def similar(quality: np.ndarray, suggested: np.ndarray) -> np.ndarray:
    """Similar samples side by side, by given and suggested class: many labels are decided at a glance.

    The worst label first; ``Similar.chained`` rearranges each pair of classes.
    """
    return doubtful(quality, suggested)


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
    return np.random.default_rng(REVIEW_ORDER_SEED).permutation(len(quality))


# Each: quality of the given label and suggested class, shape (N,), -> indices of the samples, shape (N,).
ORDERS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "similar": similar,
    "doubtful": doubtful,
    "informative": informative,
    "random": random,
}


def by_pair(index: np.ndarray, given: np.ndarray, suggested: np.ndarray) -> list[np.ndarray]:
    """The samples of each pair of given and suggested class, in their order; the largest pair first."""
    if not len(index):
        return []
    pairs = given[index] * (int(suggested.max()) + 2) + suggested[index]
    order = np.argsort(pairs, kind="stable")
    found = np.split(index[order], np.flatnonzero(np.diff(pairs[order])) + 1)
    return sorted(found, key=len, reverse=True)


def near_copies(near_duplicate_of: Sequence[str], called: Sequence[str]) -> list[list[int]]:
    """Groups of samples that are nearly the same, each in the order of the data.

    Args:
        near_duplicate_of: What another sample is called that is nearly the same as each; empty for none.
        called: What each sample is called.
    """
    place = {name: index for index, name in enumerate(called)}
    head = list(range(len(called)))

    def root(index: int) -> int:
        while head[index] != index:
            head[index] = index = head[head[index]]
        return index

    for index, name in enumerate(near_duplicate_of):
        if name and (other := place.get(name)) is not None:
            low, high = sorted((root(index), root(other)))
            head[high] = low
    groups: dict[int, list[int]] = {}
    for index in range(len(called)):
        groups.setdefault(root(index), []).append(index)
    return [group for group in groups.values() if len(group) > 1]

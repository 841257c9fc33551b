"""Classes that are two: one label for two kinds of samples that lie apart."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

FEWEST = 40  # samples of a class; fewer may lie apart by chance
MOST = 20_000  # samples that are looked at
SMALLER = 0.2  # share of the class that its smaller part has at least
APART = 4.0  # distance of the parts along the line between them, in standard deviations; halves of a bell are 2.7 apart
CLASSES = 30  # the largest, that others are compared with
WIDTH = 50  # directions that are looked at, those in which samples differ most
ROUNDING = 1e-9  # of numbers of usual size; what differs by less is the same
FOREIGN = 0.25  # samples of other classes in the inner half of a part, by its size; more are wrong labels


class Double(NamedTuple):
    """A class that is two.

    Attributes:
        label: The class.
        parts: Indices of the samples of each part, the larger first, each from its middle outward.
    """

    label: int
    parts: tuple[Tensor, Tensor]


def doubles(rows: Tensor, labels: Tensor) -> list[Double]:
    """The classes whose samples fall into two parts that lie apart.

    Each class is cut in two along some lines: between the centers of K-means, along single features, and where it
    spreads most. It counts as two if the parts are as far apart along the line as classes usually are; if other classes
    do not fall apart along the same line, as all do by a column of two values; and if few samples of other classes lie
    in either part: otherwise labels are wrong, which training finds.

    Args:
        rows: Features, shape (N, width), of comparable scale.
        labels: Shape (N,); -1 for none.
    """
    known = (labels >= 0).nonzero().flatten()
    known = known[:: max(1, -(-len(known) // MOST))]
    given = labels[known].numpy()
    names, sizes = np.unique(given, return_counts=True)
    large = names[sizes >= FEWEST]
    if len(names) < 2 or len(large) == 0:
        return []
    points = _fewer(rows[known].double().numpy())
    compared = names[sizes.argsort()[::-1][:CLASSES]]
    centers = [points[given == name].mean(0) for name in compared]
    usual = float(np.median([np.linalg.norm(a - b) for place, a in enumerate(centers) for b in centers[:place]]))
    found = []
    for label in large.tolist():
        parts = next(_parts(points, given, label, compared, usual), None)
        if parts is not None:
            larger, smaller = sorted((known[torch.from_numpy(part)] for part in parts), key=len, reverse=True)
            found.append(Double(label, (larger, smaller)))
    return found


def _parts(
    points: np.ndarray, given: np.ndarray, label: int, compared: np.ndarray, usual: float
) -> Iterator[list[np.ndarray]]:
    """The two parts of a class along each line on which it is two.

    Args:
        compared: The classes that it is compared with.
        usual: Distance of the centers of classes.
    """
    own = np.flatnonzero(given == label)
    others = [given == name for name in compared if name != label]
    for line in _lines(points[own]):
        along = points @ line
        apart, cut = _cut(along[own])
        right = along[own] > cut
        if apart < APART or not SMALLER <= right.mean() <= 1 - SMALLER:
            continue
        if np.median([_cut(along[other])[0] for other in others]) >= APART:
            continue
        members = [own[~right], own[right]]
        middles = [points[part].mean(0) for part in members]
        if np.linalg.norm(middles[0] - middles[1]) < usual:
            continue
        far = [np.linalg.norm(points - middle, axis=1) for middle in middles]
        foreign = given != label
        if all((far[i][foreign] < np.median(far[i][part])).sum() <= FOREIGN * len(part)
               for i, part in enumerate(members)):  # fmt: skip
            yield [part[far[i][part].argsort()] for i, part in enumerate(members)]


def _lines(points: np.ndarray) -> Iterator[np.ndarray]:
    """Directions along which a class may be two."""
    from sklearn.cluster import KMeans

    first, second = KMeans(2, n_init=4, random_state=0).fit(points).cluster_centers_  # pyright: ignore[reportArgumentType]
    yield second - first
    yield from np.eye(points.shape[1])
    yield from np.linalg.svd(points - points.mean(0), full_matrices=False)[2][:5]


def _cut(values: np.ndarray) -> tuple[float, float]:
    """How far two parts of numbers lie apart, in standard deviations, and the largest number of the lower one."""
    ordered = np.sort(values)
    if len(ordered) < 2 or ordered[-1] - ordered[0] <= ROUNDING * max(1.0, -ordered[0], ordered[-1]):
        return 0.0, float(ordered[-1])
    left = np.arange(1, len(ordered))
    right = left[::-1]
    sums = ordered.cumsum()[:-1]
    low, high = sums / left, (ordered.sum() - sums) / right
    within = (ordered**2).sum() - left * low**2 - right * high**2
    best = int(within.argmin())
    spread = float(np.sqrt(max(within[best], 0.0) / len(ordered)))
    gap = float(high[best] - low[best])
    return (gap / spread if spread > 1e-9 * gap else np.inf if gap else 0.0), float(ordered[best])


def _fewer(points: np.ndarray) -> np.ndarray:
    """The directions in which samples differ most."""
    if points.shape[1] <= WIDTH:
        return points
    from sklearn.decomposition import PCA

    width = min(WIDTH, *points.shape)
    return PCA(width, svd_solver="randomized", random_state=0).fit_transform(points)

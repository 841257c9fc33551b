"""Samples as points of a plane, similar ones near each other: by UMAP if it is installed, otherwise by PCA."""

import warnings
from typing import Any, NamedTuple

import numpy as np

MAX_UMAP_SAMPLES = 20_000  # more take minutes
MAX_EXACT_WIDTH = 2_000  # features; of more, or of sparse ones, the main directions are approximated
EDGE_PERCENT = 0.2  # of the points on each side that are moved to the edge, so that a few far ones do not squeeze all


class Plane(NamedTuple):
    """Points of a plane.

    Attributes:
        points: Shape (N, 2), from 0 to 1; all in the middle if nothing tells the samples apart.
        how: "PCA" or "UMAP".
    """

    points: np.ndarray
    how: str


def plane(rows: Any, umap: bool | None = None) -> Plane:
    """Points for samples.

    >>> found = plane(np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.1]]))
    >>> found.how, found.points[:, 0].round(1).tolist()
    ('PCA', [0.0, 0.1, 0.9, 1.0])

    Args:
        rows: Features of the samples, shape (N, D), an array or a sparse matrix.
        umap: Whether to use UMAP; None if it is installed and there are not too many samples.
    """
    if rows.shape[0] < 3 or rows.shape[1] == 0:
        return Plane(np.full((rows.shape[0], 2), 0.5), "PCA")
    use = rows.shape[0] <= MAX_UMAP_SAMPLES if umap is None else umap
    if use and (found := _umap(rows)) is not None:
        return Plane(_scaled(found), "UMAP")
    return Plane(_scaled(_pca(rows)), "PCA")


def standardized(rows: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and standard deviation 1; NaN becomes the mean."""
    rows = rows.astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value has no mean
        return np.nan_to_num((rows - np.nanmean(rows, 0)) / np.maximum(np.nanstd(rows, 0), 1e-6))


def _umap(rows: Any) -> np.ndarray | None:
    try:
        from umap import UMAP  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    return UMAP(random_state=0).fit_transform(rows)


def _pca(rows: Any) -> np.ndarray:
    """Coordinates along the two main directions; of each direction, the largest entry is positive."""
    if hasattr(rows, "todense") or rows.shape[1] > MAX_EXACT_WIDTH:
        from sklearn.decomposition import TruncatedSVD

        count = min(2, rows.shape[1] - 1)
        with np.errstate(invalid="ignore"):  # of rows that are all zero it takes a share of no variance
            return TruncatedSVD(count, random_state=0).fit_transform(rows) if count else np.zeros((rows.shape[0], 2))
    centered = np.nan_to_num(rows - rows.mean(0)).astype(np.float32)
    _, directions = np.linalg.eigh((centered.T @ centered).astype(np.float64))
    main = directions[:, ::-1][:, :2]
    main = main * np.sign(main[np.abs(main).argmax(0), np.arange(main.shape[1])])
    return centered @ main.astype(np.float32)


def _scaled(points: np.ndarray) -> np.ndarray:
    points = np.hstack([points, np.zeros((len(points), 2))])[:, :2].astype(np.float64)
    low, high = np.percentile(points, [EDGE_PERCENT, 100 - EDGE_PERCENT], axis=0)
    flat = high - low <= 1e-9 * max(float(np.abs(points).max()), 1e-30)
    scaled = np.clip((points - low) / np.where(flat, 1, high - low), 0, 1)
    return np.where(flat, 0.5, scaled)

"""Samples as points: the plane of PCA, against scikit-learn's; few samples, constant and sparse features."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from reweigh.features.plane import plane


def test_the_points_are_those_of_pca_up_to_scale():
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(400, 6)) * [5, 3, 1, 1, 0.5, 0.1]
    found = plane(rows, umap=False)
    for place, expected in enumerate(PCA(2).fit_transform(rows).T):
        inside = (found.points[:, place] > 0) & (found.points[:, place] < 1)  # a few far ones are moved to the edge
        assert inside.mean() > 0.98
        assert abs(np.corrcoef(found.points[inside, place], expected[inside])[0, 1]) > 1 - 1e-6


@pytest.mark.parametrize(
    "rows",
    [np.zeros((0, 3)), np.ones((2, 3)), np.ones((50, 3)), np.zeros((3, 0)), np.full((5, 2), np.nan),
     sparse.csr_matrix((10, 4)), sparse.csr_matrix(np.eye(4)[:, :1])],
)  # fmt: skip
def test_samples_that_nothing_tells_apart_lie_in_the_middle(rows):
    points = plane(rows, umap=False).points
    assert points.shape == (rows.shape[0], 2)
    assert np.isfinite(points).all()
    assert ((points >= 0) & (points <= 1)).all()


def test_one_direction_only():
    points = plane(np.arange(10.0)[:, None], umap=False).points
    assert (np.diff(points[:, 0]) > 0).all()
    assert (points[:, 1] == 0.5).all()

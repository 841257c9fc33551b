"""Small data with known mistakes, and an estimator that trains in a moment."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from reweigh import RobustClassifier


@pytest.fixture(scope="session")
def blobs():
    """X, the true labels, and labels of which a fifth is wrong."""
    X, truth = make_blobs(240, n_features=6, centers=3, cluster_std=1.5, random_state=3)
    rng = np.random.default_rng(0)
    given = np.where(rng.random(240) < 0.2, (truth + rng.integers(1, 3, 240)) % 3, truth)
    return X.astype(np.float32), truth, given


@pytest.fixture
def quick():
    """An estimator with few epochs; options as the estimator's."""

    def make(method="cmw-net", **options):
        return RobustClassifier(method, **{"epochs": 3, "batch_size": 24, "random_state": 0, **options})

    return make

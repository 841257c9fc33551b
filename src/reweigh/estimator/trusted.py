"""Samples whose labels the user vouches for, given beside the training set."""

from typing import Any

import numpy as np

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.estimator.features import Features
from reweigh.estimator.fitted import dataset
from reweigh.estimator.targets import read_more_targets


def read_trusted(estimator: Any, X: Any, y: Any, features: Features, classes: np.ndarray) -> Dataset | None:
    """The trusted samples in the form of the training samples; None if there are none.

    Raises:
        DataError: one of X and y is missing, they differ in number, or from the training set in columns or classes.
    """
    if X is None and y is None:
        return None
    if X is None or y is None:
        there, missing = ("y_trusted", "X_trusted") if X is None else ("X_trusted", "y_trusted")
        raise DataError(f"{there}: given without {missing}; give both or none")
    try:
        inputs = features.read(estimator, X, "X_trusted")
    except DataError:
        raise
    except ValueError as error:  # scikit-learn's own, which speaks of X
        raise DataError(f"X_trusted: {error}") from error
    targets = read_more_targets(y, classes, len(inputs), "y_trusted")
    if len(inputs) < 2:
        raise DataError(f"X_trusted: {len(inputs)} sample; give two or more, best some of each class")
    return dataset(features, inputs, targets)

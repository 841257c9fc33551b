"""Samples whose labels the user vouches for, given beside the training set."""

from dataclasses import replace
from typing import Any

import numpy as np

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.estimator.inputs import read_more_inputs
from reweigh.estimator.targets import read_more_targets
from reweigh.fit.inputs import InputForm


def read_trusted(
    estimator: Any, X: Any, y: Any, form: InputForm, columns: tuple[str, ...], classes: np.ndarray
) -> Dataset | None:
    """The trusted samples in the form of the training samples; None if there are none.

    Raises:
        DataError: One of X and y is missing, they differ in number, or from the training set in columns or classes.
    """
    if X is None and y is None:
        return None
    if X is None or y is None:
        there, missing = ("y_trusted", "X_trusted") if X is None else ("X_trusted", "y_trusted")
        raise DataError(f"{there}: given without {missing}; pass both or neither")
    try:
        inputs = read_more_inputs(estimator, X, form, columns, "X_trusted")
    except DataError:
        raise
    except ValueError as error:  # scikit-learn's own, which speaks of X
        raise DataError(f"X_trusted: {error}") from error
    labels, _, rows, _ = read_more_targets(y, classes, len(inputs), "y_trusted")
    if len(inputs) < 2:
        raise DataError(f"X_trusted: {len(inputs)} sample; pass two or more, best some of each class")
    return replace(form.dataset(inputs, tuple(map(str, classes))), labels=labels, soft_labels=rows)

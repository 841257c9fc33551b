"""From X in any of its forms to the inputs of a dataset, in training and later on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.validation import validate_data
from torch import Tensor

from reweigh.data import Inputs
from reweigh.data.arrays import as_tensor, channels_first
from reweigh.data.checks import listed
from reweigh.data.normalize import Standardize, standardize_like, unchanged
from reweigh.data.sparse import SparseRows, scale_like
from reweigh.data.tables.encoding import Encoding, fit_encoding
from reweigh.errors import DataError


@dataclass(frozen=True)
class Features:
    """How samples become inputs of the module; found in training, used on all later data.

    Attributes:
        shape: of one sample, as the module sees it.
        scale: mean and deviation of each column or channel, in the units of X; None for tables, whose encoding
            scales them.
        encoding: of the columns of a table.
        columns: of a table, all of them.
    """

    shape: tuple[int, ...]
    scale: Standardize | None
    encoding: Encoding | None = None
    columns: tuple[str, ...] = ()

    def read(self, estimator: Any, X: Any, what: str) -> Inputs:
        """The inputs of later data.

        Args:
            what: how messages call X.

        Raises:
            ValueError: X has other columns or another shape than in training, or holds no finite numbers.
        """
        import pandas as pd

        found = validated(estimator, X, reset=False, what=what)
        if self.encoding is not None:
            frame = found if isinstance(found, pd.DataFrame) else pd.DataFrame(dense(found, what))
            return self.encoding.apply(frame.set_axis(list(self.columns), axis=1), what)
        inputs = as_inputs(found, what)
        shape = sample_shape(inputs)
        if shape != self.shape:
            raise DataError(f"{what}: samples of shape {shape}, but the classifier was trained on {self.shape}")
        return inputs

    def normalize(self, inputs: Inputs) -> Any:
        """What a dataset of these inputs does to a batch; bytes and the same numbers as floats come out alike."""
        if self.scale is None:
            return unchanged
        if isinstance(inputs, Tensor) and inputs.dtype == torch.uint8:  # which a dataset divides by 255 first
            return Standardize(self.scale.mean / 255, self.scale.std / 255)
        return self.scale


def learn_features(estimator: Any, X: Any) -> tuple[Features, Inputs]:
    """How the samples of a training set become inputs, and these inputs.

    Columns of numbers and channels of images get mean 0 and deviation 1; columns of a sparse matrix are divided by
    their largest absolute value. The columns of a DataFrame are encoded by ``data.encoding``. Sets ``n_features_in_``
    and ``feature_names_in_``.

    Raises:
        ValueError: X holds something else than finite numbers, or a table that cannot be encoded.
    """
    import pandas as pd

    found = validated(estimator, X, reset=True, what="X")
    if isinstance(found, pd.DataFrame):
        columns = tuple(map(str, found.columns))
        frame = found.set_axis(list(columns), axis=1)
        encoding = fit_encoding(frame, what="X")
        inputs = encoding.apply(frame, "X")
        return Features(tuple(inputs.shape[1:]), None, encoding, columns), inputs
    inputs = as_inputs(found, "X")
    if isinstance(inputs, SparseRows):
        return Features(sample_shape(inputs), scale_like(inputs.matrix)), inputs
    scale = standardize_like(inputs)
    if inputs.dtype == torch.uint8:
        scale = Standardize(scale.mean * 255, scale.std * 255)
    return Features(sample_shape(inputs), scale), inputs


def validated(estimator: Any, X: Any, reset: bool, what: str) -> Any:
    """X as a DataFrame, compressed sparse rows or an array, checked in scikit-learn's way and not copied if it fits."""
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        if len(X) == 0:
            raise DataError(f"{what}: a table without rows; 0 sample(s), at least one is needed")
        if twice := X.columns[X.columns.duplicated()].unique().tolist():
            raise DataError(f"{what}: columns {listed(map(repr, twice))} more than once; give each a name of its own")
        validate_data(estimator, X, reset=reset, skip_check_array=True)  # pyright: ignore[reportArgumentType]
        return X
    if isinstance(X, Tensor):
        X = X.detach().cpu()
        X = (X if X.dtype == torch.uint8 else X.float()).numpy()
    if isinstance(X, list | np.ndarray | pd.Series) and np.size(X) and isinstance(np.asarray(X).flat[0], str):
        raise DataError(
            f"{what}: texts; give a DataFrame, whose columns may hold texts, or turn them into numbers first, in a "
            "pipeline with TfidfVectorizer"
        )
    return validate_data(
        estimator,
        X,  # pyright: ignore[reportArgumentType]
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float32, np.float64, np.uint8],
        allow_nd=True,
    )


def as_inputs(found: Any, what: str) -> Tensor | SparseRows:
    """Sparse rows as they are; arrays as tensors of bytes or float32, channels first."""
    return SparseRows(found) if sparse.issparse(found) else channels_first(as_tensor(found, what))


def dense(found: Any, what: str) -> np.ndarray:
    """The array itself; a sparse matrix is refused where training saw a DataFrame."""
    if sparse.issparse(found):
        raise DataError(f"{what}: a sparse matrix, but the classifier was trained on a DataFrame; give one again")
    return found


def sample_shape(inputs: Inputs) -> tuple[int, ...]:
    """The shape of one sample."""
    return tuple(inputs[torch.empty(0, dtype=torch.int64)].shape[1:])

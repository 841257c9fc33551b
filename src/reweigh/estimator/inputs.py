"""From X in any of its forms to the inputs of a dataset, in training and later on."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.validation import validate_data
from torch import Tensor

from reweigh.data import Inputs
from reweigh.data.arrays import as_tensor, channels_first, precision_mistake
from reweigh.data.inputs import SparseRows, as_float, normalize_like, scale_like
from reweigh.data.on_demand import DEFAULT_MEMORY_GB, standardize_by_some
from reweigh.data.readers.image_files import Header, check_pillow, suffixes
from reweigh.data.readers.images import Image, Skipped, headers_of, read_pixels
from reweigh.data.tables.encoding import Encoding, fit_encoding
from reweigh.errors import DataError
from reweigh.features import text_as
from reweigh.fit.inputs import InputForm
from reweigh.names import listed, plural
from reweigh.plan.image_size import image_size

log = logging.getLogger(__name__)
NUMPY_ON_STRINGS = "could not convert string to float"  # NumPy's words


class ReadInputs(NamedTuple):
    """The inputs of a training set, and how they are normalized."""

    inputs: Inputs
    normalize: Callable[[Tensor], Tensor]
    encoding: Encoding | None = None
    columns: tuple[str, ...] = ()
    index: Any = None


def read_inputs(estimator: Any, X: Any) -> ReadInputs:
    """The samples of a training set.

    Columns of numbers and channels of images get mean 0 and standard deviation 1, of which absurd numbers have no part;
    columns of a sparse matrix are divided by their largest absolute value. The columns of a DataFrame are encoded by
    ``data.tables.encoding``. Sets ``n_features_in_`` and ``feature_names_in_``.
    """
    import pandas as pd

    if (files := paths_in(X)) is not None:
        images = read_images(files, "X", None, estimator)
        estimator.n_features_in_ = int(images[torch.empty(0, dtype=torch.int64)].shape[1])  # as for arrays of images
        return ReadInputs(images, standardize_by_some(images))
    found = validated(estimator, X, reset=True, what="X")
    if isinstance(found, pd.DataFrame):
        columns = tuple(map(str, found.columns))
        frame = found.set_axis(list(columns), axis=1)
        asked = estimator.features.get("name") if isinstance(estimator.features, Mapping) else estimator.features
        encoding = fit_encoding(frame, text=text_as(asked if isinstance(asked, str) else None), what="X")
        return ReadInputs(encoding.apply(frame, "X"), as_float, encoding, columns, found.index)
    rows = isinstance(found, np.ndarray) and found.ndim == 2 and found.dtype.kind == "f"
    if rows and (np.isnan(found).any() or precision_mistake(found)):
        # scaled in double precision, filled and flagged, as in a DataFrame
        columns = tuple(str(number) for number in range(found.shape[1]))
        if np.isnan(found).all():
            raise DataError("X: all values are NaN; give some numbers to learn from")
        frame = pd.DataFrame(found, columns=list(columns))
        encoding = fit_encoding(frame, kinds=dict.fromkeys(columns, "number"), what="X")
        return ReadInputs(encoding.apply(frame, "X"), as_float, encoding, columns)
    inputs = as_inputs(found, "X")
    if isinstance(inputs, Tensor) and inputs.ndim == 2:
        same = (inputs.amin(0) == inputs.amax(0)).nonzero().flatten().tolist()
        if same and len(inputs) > 1:
            log.warning("X: columns that never change, which a model cannot use: %s", listed(same))
    return ReadInputs(inputs, scale_like(inputs.matrix) if isinstance(inputs, SparseRows) else normalize_like(inputs))


def read_more_inputs(estimator: Any, X: Any, form: InputForm, columns: tuple[str, ...], what: str) -> Inputs:
    """The inputs of other samples, in the form of the training set.

    Args:
        columns: All columns of the table that was trained on; empty if X was not a table.
    """
    import pandas as pd

    if (files := paths_in(X)) is not None:
        if len(form.shape) != 3 or not form.bytes:
            raise DataError(f"{what}: paths of images, but the classifier was trained on something else")
        return read_images(files, what, form.shape, estimator)
    found = validated(estimator, X, reset=False, what=what)
    if form.encoding is None and isinstance(found, pd.DataFrame):
        try:
            numbers = found.to_numpy(dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{what}: not numbers, but the classifier was trained on an array of numbers") from None
        found = validated(estimator, numbers, reset=False, what=what)
    if form.encoding is not None:
        if sparse.issparse(found):
            raise DataError(f"{what}: a sparse matrix, but the classifier was trained on a DataFrame; pass one again")
        frame = found if isinstance(found, pd.DataFrame) else pd.DataFrame(found)
        return form.encoding.apply(frame.set_axis(list(columns), axis=1), what)
    inputs = as_inputs(found, what)
    shape = tuple(inputs[torch.empty(0, dtype=torch.int64)].shape[1:])
    if shape != form.shape:
        raise DataError(f"{what}: samples of shape {shape}, but the classifier was trained on {form.shape}")
    return inputs


def validated(estimator: Any, X: Any, reset: bool, what: str) -> Any:
    """X as a DataFrame, compressed sparse rows or an array, checked in scikit-learn's way and not copied if it fits."""
    import pandas as pd

    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        if len(X) == 0:
            raise DataError(f"{what}: a table without rows; 0 sample(s), at least one is needed")
        if twice := X.columns[X.columns.duplicated()].unique().tolist():
            raise DataError(f"{what}: columns {listed(map(repr, twice))} occur more than once; give each its own name")
        validate_data(estimator, X, reset=reset, skip_check_array=True)  # pyright: ignore[reportArgumentType]
        return X
    if X is None or isinstance(X, str | Path | Mapping):
        raise DataError(
            f"{what}: got {type(X).__name__}; pass rows of numbers, a DataFrame, a sparse matrix, images, or a list of "
            "paths of images"
        )
    if isinstance(X, Tensor):
        X = X.detach().cpu()
        X = (X if X.dtype == torch.uint8 else X.float()).numpy()
    try:
        if isinstance(X, list | np.ndarray | pd.Series) and np.size(X) and isinstance(np.asarray(X).flat[0], str):
            raise ValueError(NUMPY_ON_STRINGS)
        return validate_data(
            estimator,
            X,  # pyright: ignore[reportArgumentType]
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float32, np.float64, np.uint8],
            allow_nd=True,
            ensure_all_finite="allow-nan",
        )
    except ValueError as error:
        if NUMPY_ON_STRINGS in str(error):
            raise DataError(
                f"{what}: strings; pass a DataFrame, whose columns may hold categories and text, or turn them into "
                "numbers first, in a pipeline with OneHotEncoder or TfidfVectorizer"
            ) from None
        if "with a sequence" not in str(error):  # NumPy's
            raise
        raise DataError(
            f"{what}: rows of different lengths, or cells that hold lists; pass one number per cell, the same number "
            "in every row"
        ) from None


def as_pandas(frame: Any) -> Any:
    """A table of polars as one of pandas; anything else as it is."""
    kind = type(frame)
    if not kind.__module__.startswith("polars") or kind.__name__ not in ("DataFrame", "LazyFrame"):
        return frame
    try:
        return frame.lazy().collect().to_pandas()
    except ImportError as error:
        raise DataError("a polars table needs pyarrow; install it: pip install 'reweigh[parquet]'") from error


def as_inputs(found: Any, what: str) -> Tensor | SparseRows:
    """Sparse rows as they are; arrays as tensors of bytes or float32, channels first."""
    values = found.data if sparse.issparse(found) else found
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise DataError(
            f"{what}: contains NaN; gaps are allowed only in dense rows of numbers, and only if the training rows had "
            "some. Fill them first (sklearn.impute.SimpleImputer)"
        )
    return SparseRows(found) if sparse.issparse(found) else channels_first(as_tensor(found, what))


def paths_in(X: Any) -> list[Path] | None:
    """The paths in a list, an array or a Series of paths of images; None if X is something else."""
    if not isinstance(X, list | tuple) and (getattr(X, "ndim", 0) != 1 or not hasattr(X, "__len__")):
        return None
    if not len(X):
        return None
    values = list(X)
    if all(isinstance(each, Path) for each in values):
        return values
    if not all(isinstance(each, str | Path) for each in values):
        return None
    check_pillow()
    known = suffixes()
    return [Path(each) for each in values] if all(Path(each).suffix.lower() in known for each in values) else None


def read_images(files: Sequence[Path], what: str, shape: tuple[int, ...] | None, estimator: Any) -> Inputs:
    """The pixels of image files, all in one size; gray if all are gray.

    Args:
        shape: Channels, height and width; None chooses them from the images.
        estimator: Whose parameters say whether a pretrained network sees the images, which are larger then.

    Raises:
        DataError: Some files are gone or not images, all of which the message names.
    """
    check_pillow()
    found = headers_of(files)
    images = [Image(file, its) for file, its in zip(files, found, strict=True) if isinstance(its, Header)]
    skipped: Skipped = {file: its for file, its in zip(files, found, strict=True) if not isinstance(its, Header)}
    if not skipped:
        chosen = shape or image_size([image.header for image in images], given_by(estimator)).facts.shape
        inputs, kept = read_pixels(images, (chosen[0], chosen[1], chosen[2]), DEFAULT_MEMORY_GB, skipped, "crop")
        if len(kept) == len(files):
            return inputs
    broken = [f"{file}: {why if Path(str(file)).exists() else 'no such file'}" for file, why in skipped.items()]
    files_are = plural(len(broken), "file cannot", "files cannot")
    raise DataError(f"{what}: {files_are} be read as an image; leave them out of X and y: {listed(broken)}")


def given_by(estimator: Any) -> dict[str, Any]:
    """What the parameters of the estimator say about the network that sees the images."""
    given: dict[str, Any] = {"method": {"name": str(estimator.method)}}
    given |= {} if estimator.model is None else {"model": {}}
    own = estimator.features
    if own is None or (isinstance(own, str) and own != "auto"):
        given["features"] = {"name": own or "none"}
    elif not isinstance(own, str):
        given["features"] = own if isinstance(own, Mapping) else {"name": type(own).__name__}
    return given

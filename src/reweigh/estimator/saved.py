"""A trained estimator as one file: its fit, its parameters, and the classes as the user writes them."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reweigh.errors import DataError, RecipeError
from reweigh.estimator.parameters import own_builder, plain
from reweigh.files.limits import check_amount
from reweigh.fit import Fit, store
from reweigh.fit.trainer import find_device
from reweigh.models.foreign import untrusted

BY_CLASS = ("class_weight", "class_shares")  # parameters that may be mappings from class
SEEN = ("n_features_in_", "feature_names_in_")  # what scikit-learn wants to know of X
logger = logging.getLogger(__name__)


def save(
    path: str | Path,
    found: Fit,
    params: dict[str, Any],
    seen: dict[str, Any],
    classes: np.ndarray,
    columns: tuple[str, ...],
) -> None:
    more = {
        "params": {name: plain(value) for name, value in _storable(params).items()},
        "seen": seen,
        "classes": {"values": classes.tolist(), "dtype": classes.dtype.str},
        "columns": columns,
    }
    store.save(path, found, more)


def load(
    path: str | Path, names: Iterable[str], model: Any, features: Any, trust_code: bool
) -> tuple[Fit, dict[str, Any], dict[str, Any], np.ndarray, tuple[str, ...]]:
    """What ``save`` was given; the network is on the device where it was trained, if this computer has one."""
    build = None if model is None or isinstance(model, str) else own_builder(model)
    found, more = store.load(path, build, features, trust_code)
    try:
        params = dict(more["params"])
        params |= {name: dict(map(tuple, params[name])) for name in BY_CLASS if isinstance(params[name], list)}
        classes = _classes(more["classes"]["values"], np.dtype(more["classes"]["dtype"]), path)
        device, seen, columns = _device(params["device"]), {name: more["seen"][name] for name in SEEN}, more["columns"]
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        reason = f"{type(error).__name__}: {error}"
        raise DataError(f"{path}: not as this version of reweigh writes it ({reason})") from error
    if unknown := sorted(params.keys() - set(names)):
        raise DataError(
            f"{path}: saved by another version of reweigh, with parameters that this one does not have: "
            f"{', '.join(unknown)}; train again, or use that version"
        )
    if build is not None:
        params["model"] = model
    if features is not None:
        params["features"] = features
    elif ":" in (name := _named(params["features"])) and not trust_code:
        raise untrusted(name, "features")
    if build is None and ":" in str(params["model"]) and not trust_code:  # the next fit() would build it
        raise untrusted(str(params["model"]))
    found.model.to(device)
    return found, params, seen, classes, tuple(columns)


def _named(features: Any) -> str:
    """The name in the parameter ``features``, which may be a dict of options."""
    return str(features.get("name") if isinstance(features, Mapping) else features)


def _classes(values: list[Any], dtype: np.dtype, path: str | Path) -> np.ndarray:
    """The classes as they were; a small file must not claim long labels."""
    if dtype.kind in "SU":
        check_amount("label", dtype.itemsize // np.dtype(f"{dtype.kind}1").itemsize, path, "a label")
    classes = np.empty(len(values), dtype=dtype)
    classes[:] = values
    return classes


def _storable(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters as JSON holds them: no network, generator or function; dicts as pairs, whatever their keys."""
    model, state = params["model"], params["random_state"]
    return {
        **params,
        "model": model if isinstance(model, str) else None,
        "features": params["features"] if isinstance(params["features"], str | Mapping) else None,
        "optimizer": plain(params["optimizer"]),
        "callbacks": None,
        "random_state": state if isinstance(state, int | np.integer) else None,
        **{name: _pairs(params[name]) for name in BY_CLASS},
        "device": str(params["device"]),
    }


def _pairs(value: Any) -> Any:
    """A mapping as a list of pairs; anything else as it is."""
    return [list(map(plain, pair)) for pair in value.items()] if isinstance(value, Mapping) else value


def _device(name: str) -> torch.device:
    try:
        return find_device(name)
    except RecipeError:
        logger.warning("trained on %s, which is not available here; predictions are made on the CPU", name)
        return torch.device("cpu")

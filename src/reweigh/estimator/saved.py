"""A trained estimator as one file: its fit, its parameters, and the classes as the user writes them."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reweigh.errors import RecipeError
from reweigh.estimator.networks import own_builder
from reweigh.fit import Fit, store
from reweigh.fit.trainer import find_device

logger = logging.getLogger(__name__)


def save(
    path: str | Path,
    found: Fit,
    params: dict[str, Any],
    seen: dict[str, Any],
    classes: np.ndarray,
    columns: tuple[str, ...],
) -> None:
    """Write the file whole or not at all.

    Args:
        params: Parameters of the estimator; a network of the user's own is not stored.
        seen: What scikit-learn wants to know of X.

    Raises:
        DataError: Labels or parameters are not plain numbers or strings.
    """
    more = {
        "params": {name: _plain(value) for name, value in _storable(params).items()},
        "seen": seen,
        "classes": {"values": classes.tolist(), "dtype": classes.dtype.str},
        "columns": columns,
    }
    store.save(path, found, more)


def load(
    path: str | Path, model: Any, features: Any, trust_code: bool
) -> tuple[Fit, dict[str, Any], dict[str, Any], np.ndarray, tuple[str, ...]]:
    """What ``save`` was given; the network is where it was trained, if there is such a device here.

    Raises:
        DataError: There is no such file, or it is not a classifier of a version known here.
        ModelError: The network is needed, or does not fit.
    """
    build = None if model is None or isinstance(model, str) else own_builder(model)
    found, more = store.load(path, build, features, trust_code)
    params = more["params"]
    if build is not None:
        params["model"] = model
    if features is not None:
        params["features"] = features
    if isinstance(params["class_weight"], list):
        params["class_weight"] = dict(map(tuple, params["class_weight"]))
    classes = np.empty(len(more["classes"]["values"]), dtype=np.dtype(more["classes"]["dtype"]))
    classes[:] = more["classes"]["values"]
    found.model.to(_device(params["device"]))
    return found, params, more["seen"], classes, tuple(more["columns"])


def _storable(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters as JSON holds them: no network, no generator, and dicts with keys of any type as pairs."""
    model, state, weights = params["model"], params["random_state"], params["class_weight"]
    return {
        **params,
        "model": model if isinstance(model, str) else None,
        "features": params["features"] if isinstance(params["features"], str) else None,
        "random_state": state if isinstance(state, int | np.integer) else None,
        "class_weight": [list(map(_plain, pair)) for pair in weights.items()] if isinstance(weights, dict) else weights,
        "device": str(params["device"]),
    }


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _device(name: str) -> torch.device:
    try:
        return find_device(name)
    except RecipeError:
        logger.warning("trained on %s, which is not available here; predictions are made on the CPU", name)
        return torch.device("cpu")

"""A trained estimator as one file: safetensors with JSON in its header; nothing in it can run."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from reweigh.errors import DataError, ModelError, RecipeError
from reweigh.estimator.fitted import Fitted
from reweigh.estimator.modules import Architecture, builder, name_of
from reweigh.estimator.packing import pack, under, unpack
from reweigh.files import write_whole
from reweigh.recipes.assemble import find_device
from reweigh.recipes.reload import as_trained
from reweigh.training.checkpoint import plain_tensor

logger = logging.getLogger(__name__)
KIND = "reweigh classifier"
VERSION = 1


def save(
    path: str | Path, params: dict[str, Any], seen: dict[str, Any], known: Architecture | None, found: Fitted
) -> None:
    """Write the file whole or not at all.

    Args:
        params: of the estimator; a module of the user's own is left out.
        seen: what scikit-learn wants to know of X.
        known: how to build the network.

    Raises:
        DataError: labels or parameters are no plain numbers or texts.
    """
    content, tensors = pack(found)
    content |= {"seen": seen, "architecture": known, "params": _plain_params(params)}
    tensors |= {
        f"module.{name}": value for name, value in found.module.state_dict().items() if isinstance(value, Tensor)
    }
    try:
        text = json.dumps(content, default=_plain)
    except TypeError as error:
        raise DataError(f"{path}: not saved, {error}; labels and parameters must be numbers or texts") from None
    about = {"kind": KIND, "version": str(VERSION), "content": text}
    write_whole(path, to_bytes({name: plain_tensor(tensor) for name, tensor in tensors.items()}, about))


def load(
    path: str | Path, module: Any, trust_code: bool = False
) -> tuple[dict[str, Any], dict[str, Any], Architecture | None, Fitted]:
    """What ``save`` wrote; the network is where it was trained, if there is such a device here.

    Args:
        module: the network, or what builds it, if the file cannot tell.
        trust_code: Whether a network from outside the package, which the file names, may be built.

    Raises:
        DataError: there is no such file, or it is not a classifier of a version known here.
        ModelError: the network is needed, or does not fit.
    """
    content, tensors = _read(path)
    known = None if module is not None else content["architecture"]
    if module is None and known is None:
        name = content["params"]["module"]
        raise ModelError(f"{path}: trained with a module of its own ({name}); give it again: load(path, module=...)")
    params = {**content["params"], "module": module if known is None else content["params"]["module"]}
    params["class_weight"] = _as_dict(params["class_weight"])
    classes = len(content["classes"]["values"])
    network = as_trained(
        params["method"], builder(module, known, trust_code)(tuple(content["features"]["shape"]), classes)
    )
    network = _filled(network, tensors, path).to(_device(params["device"]))
    return params, content["seen"], known, unpack(content, tensors, network)


def _read(path: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path}: no classifier can be read there ({error})") from None
    if about.get("kind") != KIND:
        raise DataError(f"{path}: a safetensors file, but not a classifier that RobustClassifier saved")
    if int(about["version"]) > VERSION:
        raise DataError(f"{path}: written by a newer reweigh (format {about['version']}, known here {VERSION}); update")
    return json.loads(about["content"]), tensors


def _filled(module: nn.Module, tensors: dict[str, Tensor], path: str | Path) -> nn.Module:
    try:
        module.load_state_dict(under("module.", tensors))
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise ModelError(
            f"{path}: its weights do not fit the module ({reason}); give the one it was trained with"
        ) from None
    return module.eval()


def _device(name: str) -> torch.device:
    try:
        return find_device(name)
    except RecipeError:
        logger.warning("trained on %s, which is not here; predictions are made on the CPU", name)
        return torch.device("cpu")


def _plain_params(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters as JSON holds them: no network, no generator, and dicts with keys of any type as pairs."""
    module, state, weights = params["module"], params["random_state"], params["class_weight"]
    return {
        **params,
        "module": module if module is None or isinstance(module, str) else name_of(module),
        "random_state": state if isinstance(state, int | np.integer) else None,
        "class_weight": list(weights.items()) if isinstance(weights, dict) else weights,
        "device": str(params["device"]),
    }


def _as_dict(pairs: Any) -> Any:
    return dict(map(tuple, pairs)) if isinstance(pairs, list) else pairs


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be stored")

"""The parameters of the estimator as a plan, checked like a recipe, and models that the user passes."""

import logging
from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from torch import nn

from reweigh.errors import ModelError, RecipeError
from reweigh.fit.trainer import Build
from reweigh.methods import find
from reweigh.models.ensemble import strongest
from reweigh.models.foreign import checked
from reweigh.plan import Plan
from reweigh.plan.check import Mistake, examine, raise_all, shown
from reweigh.plan.choose import Facts, better, chosen

logger = logging.getLogger(__name__)

# Parameter of the estimator -> key of the plan. What is None or "auto" is chosen from the data.
PLAN_KEYS = {
    "epochs": "train.epochs",
    "batch_size": "train.batch_size",
    "lr": "optimizer.lr",
    "optimizer": "optimizer.name",
    "weight_decay": "optimizer.weight_decay",
    "scoring": "train.scoring",
    "validation_fraction": "train.judge",
    "prior": "train.prior",
    "abstain": "train.abstain",
    "aim": "train.aim",
    "class_shares": "train.class_shares",
    "device": "train.device",
    "method": "method.name",
    "model": "model.name",
    "features": "features.name",
}


def plan_of(params: Mapping[str, Any], facts: Facts, trusted: bool) -> Plan:
    """The plan that the parameters describe; whatever they leave open is chosen from the data."""
    given: dict[str, Any] = {"train": {"seed": draw_seed(params["random_state"])}}
    for name, key in PLAN_KEYS.items():
        value = plain(params[name])
        if name == "class_shares" and isinstance(value, Mapping):
            value = {str(key): plain(share) for key, share in value.items()}
        if name == "features" and isinstance(value, Mapping):
            given["features"] = dict(value)
            continue
        own = name in ("model", "features") and not isinstance(params[name], str)
        if value is None or own or (isinstance(value, str) and value == "auto" and name != "device"):
            continue
        section, _, option = key.partition(".")
        given.setdefault(section, {})[option] = value
    mistakes = []
    options = {} if params["method_options"] is None else params["method_options"]
    if isinstance(options, Mapping):
        given["method"] = {**given.get("method", {}), **{str(key): plain(value) for key, value in options.items()}}
    else:
        mistakes.append(Mistake("method_options", f"got {shown(options)}; should be a dict of the method's options"))
    for name in ("candidates", "verbose", "warm_start"):
        if not isinstance(params[name], bool | int | np.bool_):
            mistakes.append(Mistake(name, f"got {shown(params[name])}; should be true or false"))
    if trusted:
        given["meta_set"] = {"name": "clean", "path": "X_trusted"}
    networks = [name for name in ("model", "features") if not isinstance(params[name], str | Mapping | None)]
    if is_classifier(params["model"]):
        networks.remove("model")
        method = given["method"] = {"name": "two-looks", "beside": "own", "only": True, **given.get("method", {})}
        if method["name"] != "two-looks":
            kind = type(params["model"]).__name__
            raise RecipeError(f"model: {kind} is trained by the method 'two-looks' only, got {shown(method['name'])}")
    if "model" in networks and params["features"] == "auto":  # it is made for the samples themselves
        given["features"] = {"name": "none"}
    if hint := better(facts, given):
        logger.warning("a small network is trained on photos from scratch%s", hint)
    plan, found = examine(chosen(facts, given), ["data", *networks])
    raise_all([*mistakes, *(Mistake(own_words(path), text) for path, text in found)], "RobustClassifier")
    assert plan is not None
    return plan


def own_words(path: str) -> str:
    """The parameter that a key of the plan comes from."""
    for name, key in PLAN_KEYS.items():
        if path == key:
            return name
    return path.replace("method.", "method_options.", 1) if path.startswith("method.") else path


def takes_unlabeled(method: str) -> bool:
    return method != "auto" and find(method).unlabeled


def plain(value: Any) -> Any:
    """A NumPy number as Python's own, as in a grid of parameters; a class, such as torch.optim.SGD, as its name."""
    if isinstance(value, type):
        return value.__name__.lower()
    return value.item() if isinstance(value, np.generic) else value


def draw_seed(random_state: Any) -> int:
    """The seed that a ``random_state`` gives: a number is the seed; None gives another one each time."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, int | np.integer):
        check_random_state(random_state)  # refuses negative numbers
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def is_classifier(model: Any) -> bool:
    """Whether this is a classifier of scikit-learn's kind: an object with ``fit`` and ``get_params``."""
    return not isinstance(model, type | nn.Module) and hasattr(model, "fit") and hasattr(model, "get_params")


def own_builder(model: Any) -> Build:
    """A function that makes a fresh network from what the user passed.

    Args:
        model: A network, which is copied with its weights; or a class or function that is called with the shape of a
            sample and the number of classes.
    """
    if isinstance(model, nn.Module):
        return partial(checked, name_of(model), partial(_copy, model))
    if not callable(model):
        raise ModelError(
            f"model: got {model!r}; pass a torch.nn.Module, a function of (input_shape, num_classes) that returns "
            "one, a classifier of scikit-learn's kind, the name of a model, or None"
        )
    return partial(checked, name_of(model), model)


def continued(build: Build, trained: nn.Module) -> Build:
    """A function that makes networks with the weights of a trained one; of an ensemble, its strongest member."""

    def copied(input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        model = build(input_shape, num_classes)
        try:
            model.load_state_dict(strongest(trained.state_dict()))
        except RuntimeError:
            raise ModelError(
                "model: not the network that was trained before, so training cannot continue from it; pass the same, "
                "or fit a new RobustClassifier"
            ) from None
        return model

    return copied


def name_of(model: Any) -> str:
    """The name, in messages, of the user's network or of what builds it."""
    return getattr(model, "__name__", type(model).__name__)


def _copy(model: nn.Module, input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return deepcopy(model)

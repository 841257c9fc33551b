"""Models that the user passes to the estimator."""

from copy import deepcopy
from functools import partial
from typing import Any

from torch import nn

from reweigh.errors import ModelError
from reweigh.fit.trainer import Build
from reweigh.models.ensemble import strongest
from reweigh.models.foreign import checked


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

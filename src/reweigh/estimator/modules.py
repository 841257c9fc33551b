"""The network to train: the user's own, one by name, or the default for the data."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

from torch import nn

from reweigh.errors import ModelError
from reweigh.estimator.defaults import default_module
from reweigh.models import build
from reweigh.models.foreign import checked

Build = Callable[[tuple[int, ...], int], nn.Module]
Architecture = tuple[str, dict[str, Any]]
"""The name of a model and its options."""


def architecture(module: Any, shape: tuple[int, ...], samples: int) -> Architecture | None:
    """What a file has to hold to build the network again; None for a network that only the user can build.

    Args:
        module: as the estimator was given it.
        shape: of one sample.
        samples: in the training set.
    """
    if module is None:
        return default_module(shape, samples)
    return (module, {}) if isinstance(module, str) else None


def builder(module: Any, known: Architecture | None, trust_code: bool = False) -> Build:
    """A function of the shape of a sample and the number of classes that gives a fresh network.

    Args:
        module: a network, which is copied with its weights; or a class or function that is called with shape and number
            of classes.
        known: the architecture, if it has a name; ``module`` is then not looked at.
        trust_code: Whether a name may stand for code outside the package.

    Raises:
        ModelError: ``module`` is something else.
    """
    if known is not None:
        return partial(_named, *known, trust_code)
    name = name_of(module)
    if isinstance(module, nn.Module):
        return partial(checked, name, partial(_copy, module))
    if not callable(module):
        raise ModelError(
            f"module: got {module!r}; give a torch.nn.Module, a function of (input_shape, num_classes) that returns "
            "one, the name of a model, or None"
        )
    return partial(checked, name, module)


def name_of(module: Any) -> str:
    """What messages call a network of the user's own, or what builds it."""
    return getattr(module, "__name__", type(module).__name__)


def _named(
    name: str, options: dict[str, Any], trust_code: bool, input_shape: tuple[int, ...], num_classes: int
) -> nn.Module:
    return build(name, input_shape, num_classes, trust_code=trust_code, **options)


def _copy(module: nn.Module, input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return deepcopy(module)

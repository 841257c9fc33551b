"""Models from outside the package: timm, torchvision, or the user's own code, run only where the user trusts it."""

import inspect
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import torch
from torch import nn

from reweigh.errors import ModelError


def foreign(name: str, trust_code: bool = False) -> Callable[..., nn.Module]:
    """The builder of a model whose name has a colon: ``timm:NAME``, ``torchvision:NAME``, ``package.module:Class``.

    The builder takes the shape of one sample, the number of classes, and the options of the model as keywords. Nothing
    is imported before it is called.

    Args:
        trust_code: Whether the user allows code outside the package to run. Without it the builder refuses, because the
            name may come from a file that somebody else wrote.
    """
    source, _, member = name.partition(":")
    if not source or not member:
        raise ModelError(f"model {name!r}: write timm:NAME, torchvision:NAME or package.module:Class.")
    if not trust_code:
        return partial(_refuse, name)
    if source == "timm":
        return partial(checked, name, partial(_timm, member))
    if source == "torchvision":
        return partial(checked, name, partial(_torchvision, member))
    return partial(checked, name, partial(own, source, member))


def _refuse(name: str, input_shape: tuple[int, ...], num_classes: int, /, **options: Any) -> nn.Module:
    raise untrusted(name)


def untrusted(name: str, kind: str = "model") -> ModelError:
    """The error for a model outside the package that the user has not allowed."""
    return ModelError(
        f"{kind} {name!r} is code outside reweigh, and building it would run that code. If you trust it, and whoever "
        "wrote this recipe, allow it for this call: --trust-code on the command line, trust_code=True in Python"
    )


def _timm(member: str, input_shape: tuple[int, ...], num_classes: int, /, **options: Any) -> nn.Module:
    timm = imported("timm", "install it: pip install timm")
    return timm.create_model(member, num_classes=num_classes, in_chans=input_shape[0], **options)


def _torchvision(member: str, input_shape: tuple[int, ...], num_classes: int, /, **options: Any) -> nn.Module:
    models = imported("torchvision.models", "install the torchvision that matches your torch")
    return models.get_model(member, num_classes=num_classes, **options)


def own(
    module: str, member: str, input_shape: tuple[int, ...], num_classes: int | None = None, /, **options: Any
) -> Any:
    """Call the user's class or function, with ``input_shape`` and ``num_classes`` if it has such parameters."""
    if module.split(".")[0] in sys.stdlib_module_names:
        raise ModelError(f"module {module!r} belongs to Python's standard library, which defines no models")
    if os.getcwd() not in sys.path:  # last, so that it hides no package, and only now that the user trusts the code
        sys.path.append(os.getcwd())
    found = imported(module, "check its spelling, and that its folder is on PYTHONPATH")
    build: Any = getattr(found, member, None)
    if not _may_build(build):
        there_are = sorted(key for key, value in vars(found).items() if not key.startswith("_") and _may_build(value))
        raise ModelError(
            f"module {module!r} has no torch.nn.Module class and no function {member!r}; it has: "
            f"{', '.join(there_are) or 'none'}."
        )
    supplied: dict[str, Any] = {"input_shape": tuple(input_shape)}
    if num_classes is not None:
        supplied["num_classes"] = num_classes
    parameters = inspect.signature(build).parameters.values()
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    wanted = supplied if takes_all else {key: supplied[key] for key in supplied if key in {p.name for p in parameters}}
    return build(**(wanted | options))


def _may_build(member: Any) -> bool:
    """Whether ``member`` is a class of modules, or a Python function, which may return one."""
    return issubclass(member, nn.Module) if isinstance(member, type) else inspect.isfunction(member)


def imported(module: str, remedy: str) -> ModuleType:
    """A module that may not be installed, or may be incompatible with other packages."""
    try:
        return import_module(module)
    except (ImportError, RuntimeError) as error:  # a torchvision that does not match torch raises RuntimeError
        raise ModelError(f"cannot import {module!r} ({error}); {remedy}") from error


def checked(
    name: str, build: Callable[..., Any], input_shape: tuple[int, ...], num_classes: int, /, **options: Any
) -> nn.Module:
    """Build a model and try it on two samples of zeros, in evaluation mode."""
    try:
        model = build(input_shape, num_classes, **options)
    except ModelError:
        raise
    except Exception as error:
        given = f"input shape {tuple(input_shape)}, {num_classes} classes and options {options}"
        raise ModelError(f"model {name!r} cannot be built for {given}: {type(error).__name__}: {error}") from error
    if not isinstance(model, nn.Module):
        raise ModelError(
            f"model {name!r} returns an object of type {type(model).__name__}; it must be a torch.nn.Module."
        )
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            logits = model(torch.zeros(2, *input_shape))
    except Exception as error:
        raise ModelError(
            f"model {name!r} cannot take samples of shape {tuple(input_shape)}: {type(error).__name__}: {error}"
        ) from error
    finally:
        model.train(training)
    shape = tuple(logits.shape) if isinstance(logits, torch.Tensor) else type(logits).__name__
    if shape != (2, num_classes):
        raise ModelError(
            f"model {name!r} returns {shape} for two samples; it must return logits of shape (2, {num_classes})."
        )
    return model

"""The options of a method: its own keyword-only arguments and, if it learns weights, those of the reweighter."""

import inspect
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from types import UnionType
from typing import Any, Union, get_args, get_origin

from reweigh.core.method import Method
from reweigh.reweighter import Reweighter

SUPPLIED = {"num_classes", "spare_curves", "loss", "weighting", "warm_up", "reduce"}  # of Reweighter: methods pass them
PUBLISHED = {"families": 3}  # defaults of published methods that are not those of a reweighter
WRITTEN = (bool, int, float, str, type(None))  # types that a recipe can write, with or without limits


def options_of_method(method: type[Method]) -> Mapping[str, inspect.Parameter]:
    """All options of a method by name; its own take precedence over those of the reweighter."""
    borrowed = keyword_only(Reweighter) if method.learns_weights else {}
    withheld = SUPPLIED | method.fixed.keys()
    shared = {name: written(parameter) for name, parameter in borrowed.items() if name not in withheld}
    shared |= {name: shared[name].replace(default=value) for name, value in PUBLISHED.items() if name in shared}
    return {**shared, **keyword_only(method)}


def keyword_only(part: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only arguments of a function or class."""
    parameters = inspect.signature(part, eval_str=True).parameters
    return {name: parameter for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY}


def written(parameter: inspect.Parameter) -> inspect.Parameter:
    """An argument that may be an object or a plain value, such as ``str | nn.Module``, as a plain value."""
    annotation = parameter.annotation
    if get_origin(annotation) not in (Union, UnionType):
        return parameter
    kept = [kind for kind in get_args(annotation) if _bare(kind) in WRITTEN]
    return parameter.replace(annotation=reduce(or_, kept))


def _bare(kind: Any) -> Any:
    """A type without its limits: int for ``Annotated[int, Ge(1)]``."""
    return get_args(kind)[0] if hasattr(kind, "__metadata__") else kind

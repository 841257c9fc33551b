"""The options of a method: its own keyword-only arguments and, if it learns weights, those of the reweighter."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt

from reweigh.core.method import Method

SUPPLIED = {"num_classes", "curves", "loss", "weighting", "reduce"}  # arguments of Reweighter that methods pass


def reweighter_options(
    *,
    families: Annotated[int, Ge(1)] = 3,
    every: Annotated[int, Ge(1)] = 10,
    engine: str = "auto",
    lookahead: Literal["virtual", "real"] = "virtual",
    scope: str = "all",
    normalize: Literal["mean", "weight-sum", "weight-sum-differentiated"] = "weight-sum",
    meta_lr: Annotated[float, Gt(0)] = 1e-3,
    meta_weight_decay: Annotated[float, Ge(0)] = 0.0,
    hidden: Annotated[int, Ge(1)] = 100,
) -> None:
    """Limits and defaults of the options of ``Reweighter``."""


def options_of_method(method: type[Method]) -> Mapping[str, inspect.Parameter]:
    """All options of a method by name; those that it declares itself win."""
    borrowed = keyword_only(reweighter_options) if method.learns_weights else {}
    withheld = SUPPLIED | method.settled.keys()
    return {**{name: p for name, p in borrowed.items() if name not in withheld}, **keyword_only(method)}


def keyword_only(part: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only arguments of a function or class."""
    parameters = inspect.signature(part, eval_str=True).parameters
    return {name: parameter for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY}

"""The parameters of the estimator, checked as the options of a recipe are: all mistakes in one message."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt
from sklearn.utils import check_random_state

from reweigh.core.method import Method
from reweigh.estimator.defaults import METHOD_OPTIONS
from reweigh.methods import METHODS, build
from reweigh.methods.setup import Setup
from reweigh.names import lookup
from reweigh.recipes.check import check_slot
from reweigh.recipes.mistakes import Mistake, check_options, raise_all, shown
from reweigh.recipes.options import options_of
from reweigh.recipes.schema import SECTIONS


def training_options(
    *,
    epochs: Annotated[int, Ge(1)] | None,
    batch_size: Annotated[int, Ge(1)] | None,
    learning_rate: Annotated[float, Gt(0)] | None,
    scoring: Literal["auto", "in-training", "out-of-fold"],
    calibration: Annotated[float, Gt(0), Lt(1)] | None,
    device: str,
    candidates: bool,
    verbose: bool | int,
) -> None:
    """What each of these parameters may be."""


def check_parameters(given: Mapping[str, Any]) -> Callable[[Setup], Method]:
    """The method with its options, to be called with a setup.

    Args:
        given: the parameters of the estimator.

    Raises:
        RecipeError: lists every parameter that is not what it may be.
    """
    model = options_of(training_options)
    _, mistakes = check_options(model, {key: plain(given[key]) for key in model.model_fields}, "RobustClassifier", "it")
    method = str(given["method"])
    lookup(METHODS, method, "method")
    options = {} if given["method_options"] is None else given["method_options"]
    bound: Any = None
    if isinstance(options, Mapping):
        chosen = {key: METHOD_OPTIONS[key] for key in METHOD_OPTIONS.keys() & options_of(METHODS[method]).model_fields}
        values = {**chosen, **{str(key): plain(value) for key, value in options.items()}, "name": method}
        parts, found = check_slot(values, "method_options", SECTIONS["method"])
        mistakes += found
        bound = partial(build, method, **parts[0].options) if parts else None
    else:
        mistakes.append(Mistake("method_options", f"got {shown(options)}; should be a dict of the method's options"))
    raise_all(mistakes, "RobustClassifier")
    return bound


def takes_unlabeled(method: str) -> bool:
    """Whether a method learns from samples without a label too."""
    return METHODS[method].unlabeled


def plain(value: Any) -> Any:
    """A NumPy number as Python's own: a grid of parameters may be an array."""
    return value.item() if isinstance(value, np.generic) else value


def draw_seed(random_state: Any) -> int:
    """The seed that a ``random_state`` gives; None gives another each time, and leaves NumPy's own generator alone."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))

"""A method that is another one with some options settled."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from reweigh.core.method import Method


def variant(method: Callable[..., Method], meaning: str, **settled: Any) -> Callable[..., Method]:
    """``method`` with these options settled; they are no longer options of the variant.

    Args:
        meaning: the variant's docstring.
    """
    made = partial(method, **settled)
    signature = inspect.signature(method, eval_str=True)
    kept = [parameter for name, parameter in signature.parameters.items() if name not in settled]
    made.__signature__ = signature.replace(parameters=kept)  # pyright: ignore[reportAttributeAccessIssue]
    made.__doc__ = meaning
    return made

"""A method that is another one with some options settled, or with some more."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from reweigh.core.method import Method

T = TypeVar("T")


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


def extends(base: Callable[..., Any]) -> Callable[[type[T]], type[T]]:
    """A class decorator: the options of ``base``, a method or a function, reach ``__init__`` as ``**options``.

    Those that ``__init__`` names itself are its own.
    """

    def extended(method: type[T]) -> type[T]:
        # of __init__: asked for the signature of the class, inspect would find the one that a base was given here
        _, *written = inspect.signature(method.__init__, eval_str=True).parameters.values()
        own = [p for p in written if p.kind is not p.VAR_KEYWORD]
        names = {p.name for p in own}
        others = inspect.signature(base, eval_str=True).parameters.values()
        more = [p for p in others if p.kind is p.KEYWORD_ONLY and p.name not in names]
        signature = inspect.Signature([*own, *more])
        method.__signature__ = signature  # pyright: ignore[reportAttributeAccessIssue]
        return method

    return extended

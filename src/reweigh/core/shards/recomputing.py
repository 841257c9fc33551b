"""Activation checkpointing in a model that several processes compute together."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from torch.utils import checkpoint

NAMES = ("CheckpointFunction", "_checkpoint_without_reentrant_generator")  # what torch's ``checkpoint`` calls


@contextmanager
def recomputed_within(again: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Inside, functions whose activations are not kept are computed in the context ``again()``, also in the backward.

    torch computes them again in the backward, when whatever surrounded the forward has ended: dropout would drop other
    units, BatchNorm would see the rows of one process, and gradients would not be summed.
    """

    def within(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with again():
            return function(*args, **kwargs)

    class Reentrant:
        @staticmethod
        def apply(function: Callable[..., Any], *args: Any) -> Any:
            return plain[0].apply(partial(within, function), *args)

    def other(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return plain[1](partial(within, function), *args, **kwargs)

    plain: list[Any] = [getattr(checkpoint, name) for name in NAMES]
    try:
        for name, changed in zip(NAMES, (Reentrant, other), strict=True):
            setattr(checkpoint, name, changed)
        yield
    finally:
        for name, before in zip(NAMES, plain, strict=True):
            setattr(checkpoint, name, before)

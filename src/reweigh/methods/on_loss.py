"""A method on a loss of its own: many a rival is plain training with another loss."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reweigh.core.method import Method
from reweigh.losses import LOSSES
from reweigh.losses.class_sizes import with_class_sizes
from reweigh.methods.setup import Setup


def on_loss(method: Callable[..., Method], name: str, meaning: str | None = None) -> Callable[..., Method]:
    """``method`` with the loss of that name in place of the setup's; the options of both are its options.

    What is made says in ``own_loss`` which loss that is, so that a recipe that asks for another is refused.

    Args:
        name: of a member of ``LOSSES``.
        meaning: the docstring; by default what the loss says of itself, up to its arguments.
    """
    loss = LOSSES[name]
    own = [p for p in inspect.signature(loss, eval_str=True).parameters.values() if p.kind is p.KEYWORD_ONLY]

    def made(setup: Setup, **options: Any) -> Method:
        settled = {option.name: options.pop(option.name) for option in own if option.name in options}
        chosen = with_class_sizes(loss, setup.train_set.class_sizes, **settled)
        return method(replace(setup, loss=chosen), **options)

    signature = inspect.signature(method, eval_str=True)
    made.__signature__ = signature.replace(  # pyright: ignore[reportFunctionMemberAccess]
        parameters=[*signature.parameters.values(), *own]
    )
    made.__name__ = loss.__name__
    made.__doc__ = meaning or (inspect.getdoc(loss) or "").partition("\n\nArgs:")[0]
    made.own_loss = name  # pyright: ignore[reportFunctionMemberAccess]
    return made

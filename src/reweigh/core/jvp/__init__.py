"""Engines: how the coefficients of an objective change along a direction, a Jacobian-vector product."""

from collections.abc import Callable

from torch import Tensor

from reweigh.core.jvp.auto import Auto
from reweigh.core.jvp.difference import difference
from reweigh.core.jvp.forward import forward
from reweigh.core.jvp.unrolled import unrolled
from reweigh.core.rerun import Params
from reweigh.errors import RecipeError
from reweigh.names import lookup

Engine = Callable[[Callable[[Params], Tensor], Params, Params], Tensor]
"""``jvp(f, at, along)``: the derivative of ``f`` at the parameters ``at`` along a direction, of the shape of ``f(at)``.

Parameters without a part of the direction stay where they are.
"""

ENGINES: dict[str, Engine | type[Auto]] = {
    "auto": Auto,
    "forward": forward,
    "difference": difference,
    "unrolled": unrolled,
}


def engine(name: str, agree: Callable[[bool], bool] = bool, sharded: bool = False) -> Engine:
    """The engine called ``name``, ready for one model.

    Args:
        name: A name in ``ENGINES``.
        agree: Whether something is true in any process.
        sharded: Whether the model is under ``fully_shard``: then ``"auto"`` is ``difference``.

    Raises:
        RecipeError: the engine would need whole parameters, of which processes have pieces.
    """
    member = lookup(ENGINES, name, "engine")
    if sharded and name not in ("auto", "difference"):
        raise RecipeError(
            f"engine {name!r} needs whole parameters, but under fully_shard each process has a piece of them; use "
            "engine='difference', or 'auto', which is 'difference' there"
        )
    if isinstance(member, type):
        return difference if sharded else member(agree)
    return member

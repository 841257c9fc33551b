"""Engines: how the coefficients of an objective change along a direction, a Jacobian-vector product."""

from collections.abc import Callable

from torch import Tensor

from reweigh.core.fully_sharded import with_whole_parameters
from reweigh.core.jvp.auto import Auto
from reweigh.core.jvp.difference import difference
from reweigh.core.jvp.forward import forward
from reweigh.core.jvp.unrolled import unrolled
from reweigh.core.rerun import Params
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
        agree: whether something is true in any process.
        sharded: whether the model is under ``fully_shard``; only ``difference``, which ``"auto"`` is then, leaves its
            parameters in pieces.
    """
    member = lookup(ENGINES, name, "engine")
    if isinstance(member, type):
        return difference if sharded else member(agree)
    return with_whole_parameters(member) if sharded and member is not difference else member

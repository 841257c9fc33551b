"""Engines: how the coefficients of an objective change along a direction, a Jacobian-vector product."""

from collections.abc import Callable

from torch import Tensor

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


def engine(name: str, agree: Callable[[bool], bool] = bool) -> Engine:
    """The engine called ``name``, ready for one model.

    Args:
        agree: whether something is true in any process.
    """
    member = lookup(ENGINES, name, "engine")
    return member(agree) if isinstance(member, type) else member

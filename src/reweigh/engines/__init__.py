"""Engines: from a meta problem to the gradient of the meta loss with respect to the weights of the batch."""

from reweigh.core.problem import Engine
from reweigh.engines.auto import Auto
from reweigh.engines.difference import central_difference, difference
from reweigh.engines.forward import forward
from reweigh.engines.unrolled import unrolled
from reweigh.names import lookup

ENGINES: dict[str, Engine | type[Auto]] = {
    "auto": Auto,
    "forward": forward,
    "difference": difference,
    "central-difference": central_difference,
    "unrolled": unrolled,
}


def engine(name: str) -> Engine:
    """The engine called ``name``, ready for one model."""
    member = lookup(ENGINES, name, "engine")
    return member() if isinstance(member, type) else member

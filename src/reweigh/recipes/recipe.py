"""A checked recipe: every part chosen, every option known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from reweigh.recipes.tables import member, method_named


@dataclass(frozen=True)
class Part:
    """A member of a table with its options.

    Attributes:
        options: the keyword arguments of the member, defaults included.
        added: what the place in the recipe adds, for the assembly (``data.root``, the seed of a bias).
        parts: choices within the choice: the biases of the data, the schedule of the optimizer.
    """

    table: str
    name: str
    options: Mapping[str, Any]
    added: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, "tuple[Part, ...]"] = field(default_factory=dict)

    def bind(self) -> Callable[..., Any]:
        """The member with its options, to be called with what the assembly supplies."""
        return partial(member(self.table, self.name), **self.options)


@dataclass(frozen=True)
class Recipe:
    """All that determines a run.

    Attributes:
        train: the options of ``reweigh.training.train``, and what the section adds (``device``, ``num_threads``).
    """

    data: Part
    model: Part
    method: Part
    loss: Part
    meta_set: Part
    optimizer: Part
    train: Mapping[str, Any]

    @property
    def own_loss(self) -> str | None:
        """The name of the loss that the method brings along, instead of the one in the section [loss]."""
        return method_named(self.method.name).own_loss

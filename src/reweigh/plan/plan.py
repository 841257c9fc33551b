"""A plan: everything that determines a training, every part chosen and every option set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from reweigh.plan.tables import member, method_named


@dataclass(frozen=True)
class Part:
    """A member of a table with its options.

    Attributes:
        options: Keyword arguments of the member, defaults included.
        added: What the section of the plan adds to them (``data.root``, the seed of a bias).
        parts: Choices within the choice: the biases of the data, the schedule of the optimizer.
    """

    table: str
    name: str
    options: Mapping[str, Any]
    added: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, "tuple[Part, ...]"] = field(default_factory=dict)

    def bind(self) -> Callable[..., Any]:
        """The member with its options bound; it is called with what only the training knows."""
        return partial(member(self.table, self.name), **self.options)


@dataclass(frozen=True)
class Plan:
    """Everything that determines a training. As TOML it is a recipe.

    Attributes:
        data: Where the samples come from; None if the caller passes them.
        model: The classifier; None if the caller passes a network.
        augment: Random changes of training inputs, in order.
        features: A frozen network that turns samples into features, which the model is trained on; None trains on the
            samples themselves.
        train: Options of ``reweigh.training.train``, and those of ``TrainOptions``.
    """

    data: Part | None
    model: Part | None
    augment: tuple[Part, ...]
    method: Part
    loss: Part
    meta_set: Part
    optimizer: Part
    train: Mapping[str, Any]
    features: Part | None = None

    @property
    def own_loss(self) -> str | None:
        """The name of the loss that the method brings along in place of the one in the section [loss]."""
        return method_named(self.method.name).own_loss

    @property
    def source(self) -> Part:
        """The section [data] of a plan that has one, as every recipe does."""
        assert self.data is not None
        return self.data

"""Plain training with another loss: focal, class-balanced or generalized cross-entropy"""

import inspect
from functools import cache
from typing import Any

from reweigh.losses import LOSSES
from reweigh.methods.erm import ERM
from reweigh.methods.options import keyword_only
from reweigh.methods.setup import Setup


class OwnLoss(ERM):
    """What these methods share; ``training_with`` makes them."""

    def __init__(self, setup: Setup, **options: Any):
        assert self.own_loss is not None
        super().__init__(setup.with_loss(self.own_loss, **options))


@cache
def training_with(loss: str) -> type[ERM]:
    """The method that is plain training with a member of ``LOSSES``; it has the options of the loss."""
    setup = inspect.signature(OwnLoss).parameters["setup"]
    attributes = {
        "__doc__": inspect.getdoc(LOSSES[loss]),
        "__module__": __name__,
        "__signature__": inspect.Signature([setup, *keyword_only(LOSSES[loss]).values()]),
        "own_loss": loss,
    }
    return type(loss.title().replace("-", ""), (OwnLoss,), attributes)

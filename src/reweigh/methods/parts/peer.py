"""A second network beside the first, for methods in which two networks correct each other."""

import copy
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from reweigh.core.scope import scoped
from reweigh.errors import ModelError
from reweigh.memory import free_memory
from reweigh.methods.parts.stateful import Stateful
from reweigh.methods.setup import Setup
from reweigh.models.ensemble import Ensemble, shuffle


class Peer(Stateful):
    """A copy of a setup's model and optimizer that starts from other values and follows the same schedule.

    It starts from the values of the first network in shuffled order. So it is initialized in the same way, whatever the
    model, and still shares nothing with the first, except pretrained weights that both start from. The order comes from
    a generator that nothing else uses.

    Attributes:
        model: The second network.
        optimizer: Optimizer of the second network.

    Args:
        reset: The part of the network that starts differently: all, last-block, last-layer, or a pattern over parameter
            names. By default all, or the last layer if the model starts from weights that were learned elsewhere.

    Raises:
        ModelError: Two networks do not fit into memory.
    """

    state = ("model", "optimizer")

    def __init__(self, setup: Setup, reset: str | None = None):
        check_room(setup.model, setup.optimizer, setup.device)
        reset = reset or ("last-layer" if setup.started else "all")
        self._first = setup.optimizer
        # copied together: the parameters of the copied optimizer are those of the copied model
        self.model, self.optimizer = copy.deepcopy((setup.model, setup.optimizer))
        generator = torch.Generator().manual_seed(setup.generator.initial_seed() + 1)
        shuffle(scoped(self.model, self.optimizer, reset).values(), generator)

    def together(self, model: nn.Module) -> Ensemble:
        """Both networks, which go on training, as one model: the mean of their probabilities."""
        return Ensemble([model, self.model]).to(next(model.parameters()).device)

    def start_epoch(self) -> None:
        """Take over the learning rates of the first network, and train."""
        self.model.train()
        for ours, theirs in zip(self._first.param_groups, self.optimizer.param_groups, strict=True):
            theirs["lr"] = ours["lr"]

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.model.train()


def check_room(model: nn.Module, optimizer: Optimizer, device: torch.device) -> None:
    """Raise a ModelError if a second network, and what training both takes, do not fit into memory."""
    sizes = [(param.numel() * param.element_size(), param.requires_grad) for param in model.parameters()]
    # besides a gradient, Adam and its kin keep two numbers for each one that they train, SGD with momentum one
    beside = 1 + (2 if "betas" in optimizer.defaults else bool(optimizer.defaults.get("momentum")))
    needed = sum(size + 2 * beside * size * trained for size, trained in sizes)
    free = free_memory(str(device))
    if free is not None and needed > free:
        raise ModelError(
            "this method trains two networks, which do not fit into memory: the second one, and the gradients and "
            f"optimizer state of both, take {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free; take a smaller "
            "model, or a method with one network, such as 'elr'"
        )

"""How far both levels of CMW-Net are from a stationary point. Paper: Theorems 1 and 2."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.objective import MetaObjective, Objective
from reweigh.methods.parts.stateful import Stateful
from reweigh.methods.parts.trusted import Trusted
from reweigh.methods.setup import Setup
from reweigh.reweighter import Reweighter


class Convergence(Stateful):
    """The squared norms of both gradients, on samples that stay the same, so that epochs can be compared.

    The samples are neither augmented nor mixed. The trusted ones are those of the first epoch after the warm-up.

    Args:
        size: Number of training samples, spread evenly over the training set.
    """

    state = ("_trusted", "_due")

    def __init__(self, setup: Setup, size: int):
        self._setup = setup
        last = len(setup.train_set) - 1
        self._index = torch.linspace(0, last, min(size, last + 1), dtype=torch.float64).round().long()
        self._trusted: Tensor | None = None
        self._due = False

    def start_epoch(self, trusted: Trusted) -> None:
        """Measure in the next step; called when the trusted samples have been chosen."""
        self._trusted = trusted.chosen.clone() if self._trusted is None else self._trusted
        self._due = True

    def measured(
        self,
        reweighter: Reweighter,
        objective: Callable[[Batch], Objective],
        trusted_objective: Callable[[Any, Tensor], MetaObjective | None],
    ) -> dict[str, Tensor]:
        """The numbers of this epoch in its first step; empty in the others."""
        if not self._due or self._trusted is None:
            return {}
        self._due = False
        setup = self._setup
        batch = setup.train_set.batch(self._index, device=setup.device)
        trusted = (setup.clean_set or setup.train_set).batch(self._trusted, device=setup.device)
        with torch.random.fork_rng(devices=[]):  # so that measuring does not change training
            model, net = reweighter.gradient_norms(
                objective(batch),
                batch.labels,
                trusted.inputs,
                trusted.labels,
                trusted_objective(trusted.inputs, trusted.labels),
            )
        return {"squared_gradient": model.square(), "squared_meta_gradient": net.square()}

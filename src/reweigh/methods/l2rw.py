"""L2RW: the weights of each batch are found anew, by how its samples agree with trusted data."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.optim import Optimizer

from reweigh.core.learner import MetaLearner, Step
from reweigh.core.objective import Loss, Objective, mean_loss
from reweigh.engines import engine as engine_named
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.setup import Setup
from reweigh.weighting import FreeWeights


class L2RW(CMWNet):
    """Learning to reweight (Ren et al., ICML 2018): a sample counts as far as its gradient agrees with trusted data.

    v_i = max(0, <grad L_i, grad L_meta>),   then scaled to a mean of one in the batch        (with plain SGD)

    The look-ahead follows the optimizer, as everywhere here. Training is plain during the warm-up.

    Ren, Zeng, Yang, Urtasun: Learning to Reweight Examples for Robust Deep Learning.

    Args:
        every: learn in every n-th step only; in the others every sample counts fully. The paper learns in all.
        engine: how the meta-gradient is computed.
        scope: the part of the model that the look-ahead moves: all, last-block, last-layer, or a pattern.
    """

    learns_weights = False

    def __init__(self, setup: Setup, *, every: Annotated[int, Ge(1)] = 1, engine: str = "auto", scope: str = "all"):
        free: Any = partial(FreeReweighter, every=every, engine=engine, scope=scope)
        super().__init__(replace(setup, reweighter=free))


class FreeReweighter:
    """A reweighter without a weight net: the weights are free numbers."""

    weight_net = None
    families = None

    def __init__(
        self, model: nn.Module, optimizer: Optimizer, labels: Tensor, *, loss: Loss, engine: str, **options: Any
    ):
        self._loss = loss
        learner = {key: options[key] for key in ("every", "scope")}
        self._learner = MetaLearner(model, optimizer, FreeWeights(), engine_named(engine), **learner)

    @property
    def due(self) -> bool:
        """Whether the coming step learns, and so needs trusted data."""
        return self._learner.due

    def step_on(self, objective: Objective, labels: Tensor, inputs: Any = None, trusted: Tensor | None = None) -> Step:
        """Train on an objective with weights from trusted inputs and labels."""
        meta = None if trusted is None else mean_loss(self._loss, inputs, trusted)
        return self._learner.step(objective, torch.zeros(len(labels), dtype=torch.int64, device=labels.device), meta)

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self._learner.steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._learner.steps = state["steps"]

"""L2RW: the weights of each batch are found anew, by what trusted data say of it."""

from typing import Annotated, Any

import torch
from annotated_types import Ge
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.objective import reweighted
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup
from reweigh.methods.trusted import Trusted
from reweigh.reweighter import Reweighter


class L2RW:
    """Learning to reweight (Ren et al., ICML 2018): a sample counts as far as its gradient agrees with trusted data.

    v_i = max(0, <grad L_i, grad L_meta>),   then scaled to a mean of one in the batch        (with plain SGD)

    The look-ahead follows the optimizer, as everywhere here. During the warm-up training is plain.

    Ren, Zeng, Yang, Urtasun: Learning to Reweight Examples for Robust Deep Learning.

    Args:
        period: learn in each ``period``-th step; in the others every sample counts fully. The paper learns in all.
        engine: the meta-gradient.
        scope: the part of the model that the look-ahead moves: all, last-block, last-layer, or a pattern.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        period: Annotated[int, Ge(1)] = 1,
        engine: str = "auto",
        scope: str = "all",
    ):
        self._setup = setup
        self._plain = ERM(setup)
        self._trusted = Trusted(setup)
        self._reweighter = Reweighter(
            setup.model,
            setup.optimizer,
            setup.train_set.labels,
            num_classes=setup.train_set.num_classes,
            loss=setup.loss,
            weight_net="free",
            every=period,
            engine=engine,
            scope=scope,
        )
        self._warm_up = False
        self._weights = torch.full((len(setup.train_set),), float("nan"))

    @property
    def model(self) -> nn.Module:
        return self._setup.model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        self._plain.start_epoch(epoch, warm_up)
        self._warm_up = warm_up
        if not warm_up:
            self._trusted.refresh()

    def step(self, batch: Batch) -> dict[str, float]:
        numbers = self._plain.step(batch) if self._warm_up else self._reweighted_step(batch)
        self._trusted.follow()
        return numbers

    def _reweighted_step(self, batch: Batch) -> dict[str, float]:
        batch = self._trusted.withheld_from(batch)
        objective = reweighted(self._setup.loss, batch.inputs, batch.labels, batch.scale)
        trusted = self._trusted.next(len(batch)) if self._reweighter.due else (None, None)
        step = self._reweighter.step_on(objective, batch.labels, *trusted)
        self._weights[batch.index.cpu()] = step.weights.to(self._weights)
        return step.numbers()

    def sample_weights(self) -> Tensor | None:
        return self._weights

    def weighting(self) -> None:
        return None

    def state_dict(self) -> dict[str, Any]:
        return {
            **self._plain.state_dict(),
            "trusted": self._trusted.state_dict(),
            "reweighter": self._reweighter.state_dict(),
            "warm_up": self._warm_up,
            "weights": self._weights,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._plain.load_state_dict(state)
        self._trusted.load_state_dict(state["trusted"])
        self._reweighter.load_state_dict(state["reweighter"])
        self._warm_up, self._weights = state["warm_up"], state["weights"]

"""CMW-Net: learn the weight of each sample from its loss and the size of its class, while the model trains."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.method import Method
from reweigh.core.objective import reweighted
from reweigh.core.step import Step
from reweigh.families import Families
from reweigh.methods.erm import ERM
from reweigh.methods.parts.trusted import Trusted
from reweigh.methods.setup import Setup
from reweigh.weighting import load_weighting


class CMWNet(Method):
    """Class-aware Meta-Weight-Net. Paper: Algorithm 1, with its efficient variant (supplement).

    All options of ``Reweighter``, and:

    Args:
        weighting: file of a weighting function learned elsewhere, used as it is (the paper's meta-test, Algorithm 2);
            no trusted samples are needed then, and none are chosen. For the file that the authors released, give the
            order of its heads too: "vnet.pth:large,small,medium".
    """

    learns_weights = True

    def __init__(self, setup: Setup, *, weighting: str | None = None):
        self._setup = setup
        self._plain = ERM(setup)
        self._frozen = bool(weighting)
        self._reweighter = setup.reweighter(
            setup.model,
            setup.optimizer,
            setup.train_set.labels,
            num_classes=setup.train_set.num_classes,
            loss=setup.loss,
            weighting=load_weighting(weighting, reads=self.reads)[0] if weighting else None,
            **self._fixed(),
        )
        self._trusted = Trusted(setup)
        self._warm_up = False
        self._weights = torch.full((len(setup.train_set),), float("nan"), device=setup.device)

    def _fixed(self) -> Mapping[str, Any]:
        """Options of the reweighter that the method fixes."""
        return self.fixed

    @property
    def model(self) -> nn.Module:
        return self._setup.model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        self._plain.start_epoch(epoch, warm_up)
        self._warm_up = warm_up
        if not warm_up and not self._frozen:
            self._trusted.refresh()

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        numbers = self._plain_step(batch) if self._warm_up else self._reweighted_step(batch)
        self._trusted.follow()
        return numbers

    def _plain_step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        numbers = self._plain.step(batch)
        if self._plain.losses is not None:
            self._trusted.observe(batch.index, self._plain.losses)
        return numbers

    def _reweighted_step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        step = self._train_on(batch, self._trusted.next(len(batch)) if self._reweighter.due else (None, None))
        self._weights[batch.index] = step.weights.to(self._weights)
        self._observe(batch, step)
        return step.scalars()

    def _observe(self, batch: Batch, step: Step) -> None:
        self._trusted.observe(batch.index, step.losses)

    def _train_on(self, batch: Batch, trusted: tuple[Tensor | None, Tensor | None]) -> Step:
        objective = reweighted(self._setup.loss, batch.inputs, batch.labels, batch.scale)
        return self._reweighter.step_on(objective, batch.labels, *trusted)

    def sample_weights(self) -> Tensor | None:
        return self._weights.cpu()

    def weighting(self) -> nn.Module | None:
        return self._reweighter.weight_net

    def families(self) -> Families | None:
        return self._reweighter.families

    def state_dict(self) -> dict[str, Any]:
        return {
            **self._plain.state_dict(),
            "reweighter": self._reweighter.state_dict(),
            "trusted": self._trusted.state_dict(),
            "warm_up": self._warm_up,
            "weights": self._weights,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._plain.load_state_dict(state)
        self._reweighter.load_state_dict(state["reweighter"])
        self._trusted.load_state_dict(state["trusted"])
        self._warm_up, self._weights = state["warm_up"], state["weights"].to(self._setup.device)

"""CMW-Net: learn the weight of each sample from its loss and the size of its class, while the model trains."""

from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Gt
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.learner import Step
from reweigh.core.objective import reweighted
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup
from reweigh.methods.trusted import Trusted
from reweigh.reweighter import Reweighter
from reweigh.weighting import ClassAwareNet, load_weighting


class CMWNet:
    """Class-aware Meta-Weight-Net. Paper: Algorithm 1, with its efficient variant (supplement).

    Args:
        families: curves to learn, for classes of small to large size. Paper: K.
        every: learn in each ``every``-th step. Paper: T_meta.
        engine: the meta-gradient.
        lookahead: "virtual" is the paper's; "real" is cheaper, and weights lag one step.
        scope: the part of the model that the look-ahead moves: all, last-block, last-layer, or a pattern.
        normalize: how weights are scaled in a batch. Divided by their sum they only say which samples count more; with
            "mean" (the paper's, under label noise) small weights also slow down all of training.
        meta_lr: learning rate of the weight net. Paper: beta.
        meta_weight_decay: of the weight net. The paper's 1e-4 pulls all weights to one half as soon as the trusted
            samples are learned and teach little more; see docs/results.md.
        hidden: width of the weight net.
        weighting: file of a function learned elsewhere, used as it is (the paper's meta-test, Algorithm 2).
    """

    def __init__(
        self,
        setup: Setup,
        *,
        families: Annotated[int, Ge(1)] = 3,
        every: Annotated[int, Ge(1)] = 10,
        engine: str = "auto",
        lookahead: Literal["virtual", "real"] = "virtual",
        scope: str = "all",
        normalize: Literal["mean", "weight-sum", "weight-sum-differentiated"] = "weight-sum",
        meta_lr: Annotated[float, Gt(0)] = 1e-3,
        meta_weight_decay: Annotated[float, Ge(0)] = 0.0,
        hidden: Annotated[int, Ge(1)] = 100,
        weighting: str | None = None,
    ):
        self._setup = setup
        self._plain = ERM(setup)
        self._reweighter = Reweighter(
            setup.model,
            setup.optimizer,
            setup.train_set.labels,
            num_classes=setup.train_set.num_classes,
            families=families,
            loss=setup.loss,
            engine=engine,
            lookahead=lookahead,
            scope=scope,
            every=every,
            normalize=normalize,
            meta_lr=meta_lr,
            meta_weight_decay=meta_weight_decay,
            hidden=hidden,
            weighting=load_weighting(Path(weighting))[0] if weighting else None,
        )
        self._trusted = Trusted(setup)
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
        numbers = self._plain_step(batch) if self._warm_up else self._reweighted_step(batch)
        self._trusted.follow()
        return numbers

    def _plain_step(self, batch: Batch) -> dict[str, float]:
        numbers = self._plain.step(batch)
        if self._plain.losses is not None:
            self._trusted.observe(batch.index, self._plain.losses)
        return numbers

    def _reweighted_step(self, batch: Batch) -> dict[str, float]:
        batch = self._trusted.withheld_from(batch)
        step = self._train_on(batch, self._trusted.next(len(batch)) if self._reweighter.due else (None, None))
        self._weights[batch.index.cpu()] = step.weights.cpu()
        self._observe(batch, step)
        return step.numbers()

    def _observe(self, batch: Batch, step: Step) -> None:
        self._trusted.observe(batch.index, step.losses)

    def _train_on(self, batch: Batch, trusted: tuple[Tensor | None, Tensor | None]) -> Step:
        objective = reweighted(self._setup.loss, batch.inputs, batch.labels, batch.scale)
        return self._reweighter.step_on(objective, batch.labels, *trusted)

    def sample_weights(self) -> Tensor | None:
        return self._weights

    def weighting(self) -> ClassAwareNet:
        """The weighting function as learned so far."""
        return self._reweighter.weight_net

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
        self._warm_up, self._weights = state["warm_up"], state["weights"]

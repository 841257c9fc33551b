"""CMW-Net: learn the weight of each sample from its loss and the size of its class; MW-Net: from its loss alone."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

import torch
from annotated_types import Ge
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.method import Method
from reweigh.core.objective import MetaObjective, Objective, reweighted
from reweigh.core.step import Step
from reweigh.families import Families
from reweigh.methods.erm import ERM
from reweigh.methods.parts.stateful import Stateful
from reweigh.methods.parts.trusted import Trusted
from reweigh.methods.setup import Setup
from reweigh.reweighter import Reweighter
from reweigh.weighting import load_weighting


@dataclass(eq=False, repr=False)
class CMWNet(Stateful, Method):
    """Class-aware Meta-Weight-Net: a learned weighting curve for each family of classes. Paper: Algorithm 1.

    Takes all options of ``Reweighter``, and:

    Args:
        weighting: file of a weighting function learned elsewhere, used as it is (the paper's meta-test, Algorithm 2).
            It needs no trusted samples, and none are chosen. For the file that the authors released, add the order of
            its heads: "vnet.pth:large,small,medium".
        convergence: number of training samples, always the same, on which the gradients of both levels are measured at
            the start of each epoch. These are the quantities of the paper's Theorems 1 and 2; the report draws them. 0
            measures nothing.
    """

    learns_weights = True
    contains = "weighted"
    state = ("_reweighter", "_trusted", "_warm_up", "_weights", "_convergence")

    setup: Setup
    _: KW_ONLY
    weighting: str | None = None
    convergence: Annotated[int, Ge(0)] = 0

    def __post_init__(self) -> None:
        setup = self.setup
        self._plain = ERM(setup)
        self._reweighter = setup.reweighter(
            setup.model,
            setup.optimizer,
            setup.train_set.labels,
            num_classes=setup.train_set.num_classes,
            loss=setup.loss,
            weighting=load_weighting(self.weighting, reads="loss")[0] if self.weighting else None,
            **self._fixed(),
        )
        self._trusted = Trusted(setup)
        self._convergence = Convergence(setup, self.convergence) if self.convergence and not self.weighting else None
        self._warm_up = False
        self._weights = setup.never_weighed()

    def _fixed(self) -> Mapping[str, Any]:
        """Options of the reweighter that the method fixes."""
        return self.fixed

    @property
    def model(self) -> nn.Module:
        return self.setup.model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        self._plain.start_epoch(epoch, warm_up)
        self._begin_epoch(warm_up)

    def _begin_epoch(self, warm_up: bool) -> None:
        """Begin an epoch with weights, and choose its trusted samples; or begin a plain epoch."""
        self._warm_up = warm_up
        if not warm_up and not self.weighting:
            self._trusted.refresh()
            if self._convergence is not None:
                self._convergence.start_epoch(self._trusted)

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
        found = {}
        if self._convergence is not None:
            found = self._convergence.measured(self._reweighter, self._objective, self._trusted_objective)
        step = self._train_on(batch, self._trusted.next(len(batch)) if self._reweighter.due else (None, None))
        self._weights[batch.index] = step.weights.to(self._weights)
        self._observe(batch, step)
        return {**step.scalars(), **found}

    def _observe(self, batch: Batch, step: Step) -> None:
        self._trusted.observe(batch.index, step.losses)

    def _train_on(self, batch: Batch, trusted: tuple[Tensor | None, Tensor | None]) -> Step:
        inputs, labels = trusted
        meta = None if labels is None else self._trusted_objective(inputs, labels)
        return self._reweighter.step_on(self._objective(batch), batch.labels, inputs, labels, meta)

    def _objective(self, batch: Batch) -> Objective:
        """The loss of each sample, times its weight."""
        return reweighted(self.setup.loss, batch.inputs, batch.labels, batch.scale)

    def _trusted_objective(self, inputs: Any, labels: Tensor) -> MetaObjective | None:
        """What the weights should lower for trusted samples; None stands for their mean loss."""
        return None

    def sample_weights(self) -> Tensor | None:
        return self._weights.cpu()

    def weight_net(self) -> nn.Module | None:
        return self._reweighter.weight_net

    def families(self) -> Families | None:
        return self._reweighter.families

    def state_dict(self) -> dict[str, Any]:
        return {**self._plain.state_dict(), **super().state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._plain.load_state_dict(state)


class MWNet(CMWNet):
    """Meta-Weight-Net (Shu et al., NeurIPS 2019): CMW-Net with a single family."""

    fixed: ClassVar[Mapping[str, Any]] = {"families": 1}


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

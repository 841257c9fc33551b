"""Early-learning regularization: what the model believed early keeps it from memorizing wrong labels later."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import torch
from annotated_types import Ge, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.objective import Objective, instead
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup

NEARLY_SURE = 1e-4  # probabilities are clamped to this distance from 0 and 1, as in the released code


class ELR(ERM):
    """Early-learning regularization (Liu et al., NeurIPS 2020): stay close to earlier predictions.

    L_i + strength log(1 - <p_i, t_i>),    t_i = momentum t_i + (1 - momentum) p_i,    started from zero

    No gradient flows through the target t_i. This applies from the first epoch on, with or without a warm-up. Targets
    take N x num_classes numbers of memory. The mixup and the second network of the paper's ELR+ are in ``elr+``.

    With learned weights on top (``elr+cmw-net``), the weight of a sample is the share of its label, and the rest goes
    to the regularization: v_i L_i + (1 - v_i) strength log(1 - <p_i, t_i>). The target is then the one before the step.
    Because weights are shares, ``normalize`` is "mean".

    Liu, Niles-Weed, Razavian, Fernandez-Granda: Early-Learning Regularization Prevents Memorization of Noisy Labels.

    Args:
        strength: Factor of the regularization. Paper: lambda, 3 for CIFAR-10 and 7 for CIFAR-100.
        momentum: Momentum of the running average of predictions. Paper: beta, 0.7 for CIFAR-10 and 0.9 for CIFAR-100.
    """

    fixed: ClassVar[Mapping[str, Any]] = {"normalize": "mean"}
    state = ("_targets",)

    def __init__(
        self,
        setup: Setup,
        *,
        strength: Annotated[float, Ge(0)] = 3.0,
        momentum: Annotated[float, Ge(0), Lt(1)] = 0.7,
    ):
        super().__init__(setup)
        self._strength = strength
        self._momentum = momentum
        self._targets = torch.zeros(len(setup.train_set), setup.train_set.num_classes, device=setup.device)

    def _loss(self, batch: Batch) -> Tensor:
        logits = self._model(batch.inputs)
        losses, targets = self._setup.loss(logits, batch.labels), self.update(batch.index, logits.detach())
        self.losses = losses.detach()
        return batch.weighted(losses + self.regularization(logits, targets)).mean()

    def objective(self, batch: Batch) -> Objective:
        """The label by how much it is trusted, the regularization by how much it is not."""
        targets = self._targets[batch.index]
        return instead(
            self._setup.loss,
            lambda logits: self.regularization(logits, targets),
            batch.inputs,
            batch.labels,
            batch.scale,
        )

    def follow(self, batch: Batch, outputs: Any) -> None:
        self.update(batch.index, outputs.detach())

    def update(self, index: Tensor, logits: Tensor) -> Tensor:
        """The targets of some samples, updated by the latest predictions; shape (n, num_classes)."""
        probabilities = bounded(logits)
        latest = (probabilities / probabilities.sum(1, keepdim=True)).to(self._targets)
        self._targets[index] = self._momentum * self._targets[index] + (1 - self._momentum) * latest
        return self._targets[index].to(logits)

    def regularization(self, logits: Tensor, targets: Tensor) -> Tensor:
        """What is added to the loss of each sample, shape (n,)."""
        return self._strength * departure(logits, targets)


def departure(logits: Tensor, targets: Tensor) -> Tensor:
    """log(1 - <p, t>): the regularization of each sample, shape (n,), small where predictions agree with targets."""
    return (1 - (targets * bounded(logits)).sum(1)).log()


def bounded(logits: Tensor) -> Tensor:
    """Probabilities that are never quite 0 or 1; beyond these bounds they have no gradient."""
    return logits.softmax(1).clamp(NEARLY_SURE, 1 - NEARLY_SURE)

"""Early-learning regularization: predictions may not move away from their own running average; ELR and ELR+."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from annotated_types import Ge, Lt
from torch import Tensor, nn

from reweigh.core.objective import Batch, Objective, instead
from reweigh.losses.cross_entropy import as_rows
from reweigh.methods.erm import ERM
from reweigh.methods.noisy.two_networks import TwoNetworks
from reweigh.pseudo_labels import AveragedModel, checked_draw

NEARLY_SURE = 1e-4  # probabilities are clamped to this distance from 0 and 1, as in the released code


@dataclass(eq=False, repr=False, kw_only=True)
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

    strength: Annotated[float, Ge(0)] = 3.0
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.7

    def __post_init__(self) -> None:
        super().__post_init__()
        samples = self.setup.train_set
        self._targets = torch.zeros(len(samples), samples.num_classes, device=self.setup.device)

    def _loss(self, batch: Batch) -> Tensor:
        logits = self._model(batch.inputs)
        losses, targets = self.setup.loss(logits, batch.labels), self.update(batch.index, logits.detach())
        self.losses = losses.detach()
        return batch.weighted(losses + self.regularization(logits, targets)).mean()

    def objective(self, batch: Batch) -> Objective:
        """The label by how much it is trusted, the regularization by how much it is not."""
        targets = self._targets[batch.index]
        return instead(
            self.setup.loss,
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
        self._targets[index] = self.momentum * self._targets[index] + (1 - self.momentum) * latest
        return self._targets[index].to(logits)

    def regularization(self, logits: Tensor, targets: Tensor) -> Tensor:
        """What is added to the loss of each sample, shape (n,)."""
        return self.strength * departure(logits, targets)


def departure(logits: Tensor, targets: Tensor) -> Tensor:
    """log(1 - <p, t>): the regularization of each sample, shape (n,), small where predictions agree with targets."""
    return (1 - (targets * bounded(logits)).sum(1)).log()


def bounded(logits: Tensor) -> Tensor:
    """Probabilities that are never quite 0 or 1; beyond these bounds they have no gradient."""
    return logits.softmax(1).clamp(NEARLY_SURE, 1 - NEARLY_SURE)


@dataclass(eq=False, repr=False, kw_only=True)
class ELRPlus(TwoNetworks):
    """ELR+ (Liu et al., NeurIPS 2020): two networks, mixup, and targets from the EMA of the other network.

        L(f(x'), y') + strength log(1 - <p(x'), t'>),    t_i = momentum t_i + (1 - momentum) p_other(x_i)

    x', y' and t' are mixed in pairs by the same shares; p_other is what the EMA of the other network predicts for the
    unmixed sample. This applies from the first epoch on. The prediction is the mean of both networks. A step costs
    about three times as much as in plain training, and targets take 2 x N x num_classes numbers of memory. The EMAs
    predict in eval mode (released code: in train mode). Left out: the ramp and the reweighted labels that the authors
    add for CIFAR-100.

    Liu, Niles-Weed, Razavian, Fernandez-Granda: Early-Learning Regularization Prevents Memorization of Noisy Labels.

    Args:
        strength: Factor of the regularization. Paper: lambda, 3 for CIFAR-10, 1 if noise is asymmetric, 7 for
            CIFAR-100; here one default for all.
        momentum: Momentum of the targets. Paper: beta, 0.7 for CIFAR-10, 0.9 if noise is asymmetric and for CIFAR-100.
        average: Decay of the EMAs. Paper: gamma.
        mixup: Strength of mixing samples in pairs; 0 mixes none.
        reset: Part of the second network that starts differently, as in ``decoupling``.
    """

    state = ("_averages", "_targets")

    strength: Annotated[float, Ge(0)] = 3.0
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.7
    average: Annotated[float, Ge(0), Lt(1)] = 0.997
    mixup: Annotated[float, Ge(0)] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        samples = self.setup.train_set
        self._averages = [AveragedModel(net, self.average) for net in (self._model, self._peer.model)]
        self._targets = torch.zeros(2, len(samples), samples.num_classes, device=self.setup.device)

    def _loss_of(self, number: int, model: nn.Module, batch: Batch) -> Tensor:
        targets = self._updated(number, batch)
        rows = as_rows(batch.labels, targets)
        mix = checked_draw(batch.inputs, self.mixup, self.setup.generator)
        logits = model(mix.inputs(batch.inputs))
        loss = self.setup.loss(logits, mix.inputs(rows)) + self.strength * departure(logits, mix.inputs(targets))
        return batch.weighted(loss).mean()

    def _after_step(self, number: int, model: nn.Module) -> None:
        self._averages[number].update(model)

    @torch.no_grad()
    def _updated(self, number: int, batch: Batch) -> Tensor:
        """The targets of one of the networks, shape (n, num_classes), updated by the other's average."""
        latest = self._averages[1 - number].model.eval()(batch.inputs).softmax(1)
        index = batch.index
        self._targets[number, index] = torch.lerp(latest.to(self._targets), self._targets[number, index], self.momentum)
        return self._targets[number, index].to(latest)

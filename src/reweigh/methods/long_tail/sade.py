"""SADE: three experts of one network, for the training shares, for equal shares, and for reversed shares."""

from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.objective import Forward, Objective, Terms
from reweigh.losses.class_sizes import log_shares
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup
from reweigh.models.experts import Experts


class SADE(ERM):
    """Skill-diverse experts (Zhang et al., NeurIPS 2022): each is trained for different class shares.

        L(z_1, y) + L(z_2 + log share, y) + L(z_3 + log share - strength log reversed, y)

    z_1 to z_3 are the logits of three experts, which share the network below its last block. ``reversed`` are the class
    shares in reverse order: the most frequent class has the smallest, and so on. The prediction is the mean of the
    logits. For the heads of the paper, set ``model.logits = "cosine"``. Left out: the aggregation that the authors
    learn on unlabeled test data.

    Zhang, Hooi, Hong, Feng: Self-Supervised Aggregation of Diverse Experts for Test-Agnostic Long-Tailed Recognition.

    Args:
        strength: factor of the reversed shares. Paper: lambda.
    """

    one_process = True
    contains = "uniform"  # about: the mean over experts for the given, equal and reversed shares

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return Experts(model)

    def __init__(self, setup: Setup, *, strength: Annotated[float, Ge(0)] = 2.0):
        super().__init__(setup if isinstance(setup.model, Experts) else setup.with_model(Experts(setup.model)))
        shares = log_shares(setup.train_set.class_sizes.double())
        self._adjusted = torch.stack([torch.zeros_like(shares), shares, shares - strength * reverse(shares)])

    def objective(self, batch: Batch) -> Objective:
        def objective(forward: Forward) -> Terms:
            logits = forward(batch.inputs, apart=True)
            adjusted = logits + self._adjusted.to(logits)[:, None]
            total = torch.stack([self._setup.loss(each, batch.labels) for each in adjusted]).sum(0)
            mean = logits.mean(0)
            return Terms(
                batch.weighted(total), self._setup.loss(mean, batch.labels), total.new_zeros(()), len(batch), mean
            )

        return objective


def reverse(shares: Tensor) -> Tensor:
    """Shares, shape (C,), in reversed order of rank: the most frequent class gets the smallest."""
    order = shares.argsort(stable=True)
    return torch.empty_like(shares).scatter(0, order, shares[order.flip(0)])

"""PRODEN: among several candidate labels, the one that the model comes to believe takes over."""

import torch
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.losses.labels import as_rows
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup


class PRODEN(ERM):
    """Progressive identification of the true label among candidates (Lv et al., ICML 2020).

    sum_j w_ij L_ij,    w_ij = p_ij / sum over the candidates p_ij  for a candidate j, else 0

    L_ij is the loss of sample i with label j, and p what the model predicted when the sample was last in a batch. The
    weights start uniform, and stay so during the warm-up; in the limit they are one-hot, and the loss is that of the
    likeliest candidate, the smallest. They take N x num_classes numbers of memory. With one candidate per sample this
    is plain training.

    Lv, Xu, Feng, Niu, Geng, Sugiyama: Progressive Identification of True Labels for Partial-Label Learning.
    """

    candidates = True
    state = ("_belief", "_warm_up")

    def __init__(self, setup: Setup):
        super().__init__(setup)
        self._warm_up = False
        self._belief = torch.full(
            (len(setup.train_set), setup.train_set.num_classes), float("nan"), device=setup.device
        )

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._warm_up = warm_up

    def _loss(self, batch: Batch) -> Tensor:
        logits = self._model(batch.inputs)
        candidates = as_rows(batch.labels, logits)  # uniform over them
        index = batch.index
        before = self._belief[index].to(logits)
        target = candidates if self._warm_up else torch.where(before.isnan(), candidates, before)
        self._belief[index] = belief(logits.detach(), candidates > 0).to(self._belief)
        return batch.weighted(self._setup.loss(logits, target)).mean()


def belief(logits: Tensor, candidates: Tensor) -> Tensor:
    """How far each candidate is believed: the predicted probabilities, normalized over the candidates.

    Args:
        logits: shape (n, num_classes).
        candidates: shape (n, num_classes) bool, one or more in each row.

    Returns:
        Shape (n, num_classes), rows sum to one.
    """
    return logits.masked_fill(~candidates, -torch.inf).softmax(1)

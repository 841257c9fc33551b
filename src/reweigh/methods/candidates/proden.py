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
    weights are uniform at first and during the warm-up. As the model becomes sure of one candidate, they approach a
    one-hot label, and the loss approaches that of the likeliest candidate. They take one number per candidate of
    memory. If every sample has one candidate, this is plain training.

    Lv, Xu, Feng, Niu, Geng, Sugiyama: Progressive Identification of True Labels for Partial-Label Learning.
    """

    candidates = True
    state = ("_belief", "_warm_up")

    def __init__(self, setup: Setup):
        super().__init__(setup)
        self._warm_up = False
        given = setup.train_set.candidates
        counts = torch.ones(len(setup.train_set), dtype=torch.int64) if given is None else given.counts
        self._starts = (counts.cumsum(0) - counts).to(setup.device)
        # of the candidates of all samples, one after the other; the last number is of none
        self._belief = torch.full((int(counts.sum()) + 1,), float("nan"), device=setup.device)

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._warm_up = warm_up

    def _loss(self, batch: Batch) -> Tensor:
        logits = self._model(batch.inputs)
        candidates = as_rows(batch.labels, logits)  # uniform over them
        mask = candidates > 0
        kept = torch.where(mask, self._starts[batch.index][:, None] + mask.cumsum(1) - 1, len(self._belief) - 1)
        before = torch.where(mask, self._belief[kept].to(logits), 0.0)
        target = candidates if self._warm_up else torch.where(before.isnan(), candidates, before)
        self._belief[kept] = belief(logits.detach(), mask).to(self._belief)
        return batch.weighted(self._setup.loss(logits, target)).mean()


def belief(logits: Tensor, candidates: Tensor) -> Tensor:
    """How likely each candidate is: the predicted probabilities, normalized over the candidates.

    Args:
        logits: Shape (n, num_classes).
        candidates: Shape (n, num_classes) bool, one or more in each row.

    Returns:
        Shape (n, num_classes), rows sum to one.
    """
    return logits.masked_fill(~candidates, -torch.inf).softmax(1)

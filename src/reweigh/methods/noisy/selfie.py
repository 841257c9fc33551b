"""SELFIE: learn from samples of small loss, and from those whose prediction has long been the same."""

from math import log
from typing import Annotated

import torch
from annotated_types import Ge, Le, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.losses.cross_entropy import as_rows
from reweigh.methods.erm import ERM
from reweigh.methods.noisy.relabeling import RecentPredictions
from reweigh.methods.parts.guesses import warn_of_vanished
from reweigh.methods.parts.mixture import gaussian_low
from reweigh.methods.setup import Setup


class Selfie(ERM):
    """SELFIE (Song et al., ICML 2019): refurbish samples that are predicted consistently, drop other doubtful ones.

    Each batch contributes two kinds of samples: the share 1 - noise_rate with the smallest losses, with their given
    labels; and samples that were predicted consistently in recent epochs, with the class that was predicted most. A
    sample is consistent if

        entropy of the predicted classes of recent epochs / log num_classes  <=  uncertainty

    During the warm-up (paper: 25 of 100 epochs), training is plain.

    Song, Kim, Lee: SELFIE: Refurbishing Unclean Samples for Robust Deep Learning. Left out: its restarts.

    Args:
        noise_rate: Rate of wrong labels, which the paper assumes to be known; by default it is estimated by a Gaussian
            mixture of the losses before each epoch. Paper: tau.
        uncertainty: Uncertainty up to which a sample is refurbished. Paper: epsilon.
        window: Number of epochs whose predictions are remembered; nothing is refurbished before they have passed.
            Paper: q.
    """

    state = ("_recent", "_new", "_plain", "_rate", "_weights")

    def __init__(
        self,
        setup: Setup,
        *,
        noise_rate: Annotated[float, Ge(0), Lt(1)] | None = None,
        uncertainty: Annotated[float, Ge(0), Le(1)] = 0.05,
        window: Annotated[int, Ge(1)] = 15,
    ):
        super().__init__(setup)
        self._noise_rate, self._uncertainty, self._window = noise_rate, uncertainty, window
        self._rate = noise_rate or 0.0
        self._recent = RecentPredictions(len(setup.train_set), setup.train_set.num_classes, window)
        self._new = torch.full((len(setup.train_set),), -1)  # labels of refurbished samples
        self._plain = True
        self._weights = torch.full((len(setup.train_set),), float("nan"), device=setup.device)

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._plain = warm_up or epoch == 0
        if not self._plain:
            if self._noise_rate is None:
                self._rate = 1 - float(gaussian_low(self._setup.losses(self._model)).mean())
            shares, times = self._recent.mean()
            steady = (times == self._window) & (uncertainty(shares) <= self._uncertainty)
            before = self.labels
            self._new = shares.argmax(1).where(steady, -1)
            warn_of_vanished(before, self.labels, self._setup.train_set.class_names)
        self._recent.start_epoch()

    def _loss(self, batch: Batch) -> Tensor:
        logits = self._model(batch.inputs)
        self._recent.note(batch.index, as_rows(logits.argmax(1), logits))
        if self._plain:
            return batch.weighted(self._setup.loss(logits, batch.labels)).mean()
        index = batch.index
        given = self._setup.loss(logits, batch.labels).detach()
        kept = max(round((1 - self._rate) * len(given)), 1)
        clean = torch.zeros_like(given, dtype=torch.bool).scatter(0, given.argsort(stable=True)[:kept], True)
        new = self._new[index].to(batch.inputs.device)
        targets = as_rows(batch.labels, logits)
        targets = as_rows(new.clamp_min(0), logits).where((new >= 0)[:, None], targets)
        used = clean | (new >= 0)
        self._weights[index] = used.to(self._weights)
        return (batch.weighted(self._setup.loss(logits, targets)) * used).sum() / used.sum()

    def sample_weights(self) -> Tensor | None:
        return self._weights.cpu()

    @property
    def labels(self) -> Tensor:
        """The labels that are learned, given or refurbished, shape (N,)."""
        return self._new.where(self._new >= 0, self._setup.train_set.labels)


def uncertainty(shares: Tensor) -> Tensor:
    """The entropy of each row, shape (n,), relative to that of equal shares; rows of shape (n, num_classes)."""
    return -torch.xlogy(shares, shares).sum(1) / log(max(shares.shape[1], 2))

"""MentorNet, SELFIE and M-correction: labels with a large loss are dropped, replaced or mixed with predictions."""

from dataclasses import dataclass
from math import log
from typing import Annotated, Any

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor

from reweigh.core.objective import Batch
from reweigh.losses.class_sizes import log_shares, unlike_shares
from reweigh.losses.cross_entropy import as_rows
from reweigh.methods.erm import Weighing
from reweigh.methods.noisy.relabeling import RecentPredictions
from reweigh.methods.parts.guesses import BETA_EDGE, BetaMixture, gaussian_low, warn_of_vanished
from reweigh.pseudo_labels import checked_draw


@dataclass(eq=False, repr=False, kw_only=True)
class MentorNet(Weighing):
    """The predefined curriculum of MentorNet (Jiang et al., ICML 2018): samples with a large loss count less.

        v_i = 1 if L_i <= bar, else 0

    The bar is a moving average of a percentile of the losses in a batch. During the warm-up, all samples count fully.
    The paper also learns a curriculum with a network that is trained on clean data; for that, use MW-Net or CMW-Net.

    Jiang, Zhou, Leung, Li, Fei-Fei: MentorNet: Learning Data-Driven Curriculum for Very Deep Neural Networks on
    Corrupted Labels.

    Args:
        percentile: Share of a batch that counts fully. The paper chooses it by the rate of wrong labels, which is not
            known here; 0.75.
        decay: Decay of the moving average of the bar.
    """

    state = ("_bar", "_warm_up")

    percentile: Annotated[float, Gt(0), Le(1)] = 0.75
    decay: Annotated[float, Ge(0), Lt(1)] = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        self._bar: Tensor | None = None

    def _loss(self, batch: Batch) -> Tensor:
        losses = self.setup.loss(self._model(batch.inputs), batch.labels)
        self.losses = losses.detach()
        latest = self.losses.double().quantile(self.percentile)
        self._bar = latest if self._bar is None else self.decay * self._bar + (1 - self.decay) * latest
        if self._warm_up:
            return batch.weighted(losses).mean()
        weights = (self.losses <= self._bar).to(losses.dtype)
        self._weights[batch.index] = weights.to(self._weights)
        return batch.weighted(weights * losses).mean()


@dataclass(eq=False, repr=False, kw_only=True)
class Selfie(Weighing):
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

    state = ("_recent", "_new", "_plain", "_rate")

    noise_rate: Annotated[float, Ge(0), Lt(1)] | None = None
    uncertainty: Annotated[float, Ge(0), Le(1)] = 0.05
    window: Annotated[int, Ge(1)] = 15

    def __post_init__(self) -> None:
        super().__post_init__()
        samples = self.setup.train_set
        self._rate = self.noise_rate or 0.0
        self._recent = RecentPredictions(len(samples), samples.num_classes, self.window)
        self._new = torch.full((len(samples),), -1)  # labels of refurbished samples
        self._plain = True

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._plain = warm_up or epoch == 0
        if not self._plain:
            if self.noise_rate is None:
                self._rate = 1 - float(gaussian_low(self.setup.losses(self._model)).mean())
            shares, times = self._recent.mean()
            steady = (times == self.window) & (uncertainty(shares) <= self.uncertainty)
            before = self.labels
            self._new = shares.argmax(1).where(steady, -1)
            warn_of_vanished(before, self.labels, self.setup.train_set.class_names)
        self._recent.start_epoch()

    def _loss(self, batch: Batch) -> Tensor:
        logits = self._model(batch.inputs)
        self._recent.note(batch.index, as_rows(logits.argmax(1), logits))
        if self._plain:
            return batch.weighted(self.setup.loss(logits, batch.labels)).mean()
        index = batch.index
        given = self.setup.loss(logits, batch.labels).detach()
        kept = max(round((1 - self._rate) * len(given)), 1)
        clean = torch.zeros_like(given, dtype=torch.bool).scatter(0, given.argsort(stable=True)[:kept], True)
        new = self._new[index].to(batch.inputs.device)
        targets = as_rows(batch.labels, logits)
        targets = as_rows(new.clamp_min(0), logits).where((new >= 0)[:, None], targets)
        used = clean | (new >= 0)
        self._weights[index] = used.to(self._weights)
        return (batch.weighted(self.setup.loss(logits, targets)) * used).sum() / used.sum()

    @property
    def labels(self) -> Tensor:
        """The labels that are learned, given or refurbished, shape (N,)."""
        return self._new.where(self._new >= 0, self.setup.train_set.labels)


def uncertainty(shares: Tensor) -> Tensor:
    """The entropy of each row, shape (n,), relative to that of equal shares; rows of shape (n, num_classes)."""
    return -torch.xlogy(shares, shares).sum(1) / log(max(shares.shape[1], 2))


@dataclass(eq=False, repr=False, kw_only=True)
class MCorrection(Weighing):
    """M-correction (Arazo et al., ICML 2019): dynamic bootstrapping by a beta mixture of the losses, with mixup.

        L(f(x'), share u_a + (1 - share) u_b) + penalty,    u_i = (1 - w_i) y_i + w_i z_i,    x' a mixture of a and b

    w_i is the probability that the current loss of the sample belongs to the component of large losses, and z_i the
    class that the model predicts. The mixture is fitted before each epoch. The penalty keeps the mean prediction of a
    batch near the class shares (paper: near equal shares). The first epochs have only mixup, without bootstrapping and
    penalty.

    Arazo, Ortego, Albert, O'Connor, McGuinness: Unsupervised Label Noise Modeling and Loss Correction. This is the
    variant M-DYR-H; the authors prefer MD-DYR-SH if most labels are wrong.

    Args:
        start: Share of the epochs without bootstrapping, unless the warm-up is longer. Paper: 105 of 300 epochs.
        mixup: Strength of mixing samples in pairs; 32 mixes nearly half and half.
        penalty: Factor of the penalty.
    """

    state = ("_mixture",)

    start: Annotated[float, Ge(0), Le(1)] = 0.35
    mixup: Annotated[float, Ge(0)] = 32.0
    penalty: Annotated[float, Ge(0)] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._log_shares = log_shares(self.setup.train_set.class_sizes.double())
        self._mixture: BetaMixture | None = None

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if not warm_up and epoch > 0 and epoch >= self.start * self.setup.epochs:
            self._mixture = BetaMixture.fit(self.setup.losses(self._model))

    def _loss(self, batch: Batch) -> Tensor:
        bootstrapped = None if self._mixture is None else self._bootstrapped(batch, self._mixture)
        mix = checked_draw(batch.inputs, self.mixup, self.setup.generator)
        logits = self._model(mix.inputs(batch.inputs))
        targets = as_rows(batch.labels, logits) if bootstrapped is None else bootstrapped
        loss = batch.weighted(self.setup.loss(logits, mix.inputs(targets))).mean()
        if bootstrapped is None:
            return loss
        return loss + self.penalty * unlike_shares(logits, self._log_shares)

    @torch.no_grad()
    def _bootstrapped(self, batch: Batch, mixture: BetaMixture) -> Tensor:
        """The label of each sample, mixed with what the model predicts; shape (n, num_classes)."""
        logits = self._model.eval()(batch.inputs)
        self._model.train()
        wrong = mixture(self.setup.loss(logits, batch.labels)).clamp(BETA_EDGE, 1 - BETA_EDGE)
        self._weights[batch.index] = (1 - wrong).to(self._weights)
        return torch.lerp(as_rows(batch.labels, logits), as_rows(logits.argmax(1), logits), wrong[:, None])

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._mixture = BetaMixture(*self._mixture) if self._mixture else None

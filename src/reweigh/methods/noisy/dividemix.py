"""DivideMix: each of two networks divides the samples by their losses; the other learns some of them without label."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.losses.class_sizes import log_shares, unlike_shares
from reweigh.losses.cross_entropy import as_rows
from reweigh.methods.noisy.two_networks import TwoNetworks
from reweigh.methods.parts.guesses import ramp, sharpened
from reweigh.methods.parts.mixture import gaussian_low
from reweigh.methods.parts.views import another_view
from reweigh.pseudo_labels.mixup import checked_draw

logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False, kw_only=True)
class DivideMix(TwoNetworks):
    """DivideMix (Li et al., ICLR 2020): samples with a large loss lose their label and are learned as in MixMatch.

    Before each epoch, a Gaussian mixture of the losses of one network gives each sample the probability w that its
    label is right. The other network learns a refined label if w is above the threshold, and a guessed label otherwise:

        refined label  w y + (1 - w) p,      p the mean prediction of the network over two views
        guessed label  the mean prediction of both networks over two views

    Both are sharpened. All views are mixed in pairs, and a step minimizes

        mean of L over labeled + factor(t) * mean squared difference over unlabeled + penalty

    where the penalty keeps the mean prediction near the class shares. During the warm-up (paper: 10 of 300 epochs),
    training is plain. The prediction is the mean of both networks. A step costs six to nine times as much as in plain
    training. Here, the labeled and unlabeled samples of a step come from one batch, so that an epoch sees each sample
    once.

    The authors choose the factor by the type and rate of the noise (0, 25, 50 or 150; learning rate 0.02), and if noise
    is asymmetric, they penalize confident predictions during the warm-up. Here, one default serves for all, without
    that penalty. At larger learning rates, a factor of 25 soon makes all predictions the same; on held-out images of
    Fashion-MNIST, 0, 1 and 5 were within two points of each other. With a model that starts from ``simclr``
    (``model.start``), this is C2D (Zheltonozhskii et al., WACV 2022).

    Li, Socher, Hoi: DivideMix: Learning with Noisy Labels as Semi-supervised Learning.

    Args:
        threshold: Probability of being right above which a label is kept.
        factor: Factor of the unlabeled term. Paper: lambda_u.
        ramp_epochs: Number of epochs after the warm-up until the factor is reached.
        temperature: Temperature of refined and guessed labels; below 1 sharpens them. Paper: T.
        mixup: Strength of mixing samples in pairs; 0 mixes none. Paper: alpha, 4; 0.5 for photos from the web.
        reset: Part of the second network that starts differently, as in ``decoupling``.
    """

    state = ("_right", "_epoch")

    threshold: Annotated[float, Ge(0), Le(1)] = 0.5
    factor: Annotated[float, Ge(0)] = 1.0
    ramp_epochs: Annotated[int, Ge(0)] = 16
    temperature: Annotated[float, Gt(0)] = 0.5
    mixup: Annotated[float, Ge(0)] = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._log_shares = log_shares(self.setup.train_set.class_sizes.double())
        self._right: Tensor | None = None  # of the labels, by the losses under each network; shape (2, N)
        self._epoch = -1  # counted from the end of the warm-up

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if not warm_up and epoch > 0:
            self._epoch += 1
            losses = (self.setup.losses(net) for net in (self._model, self._peer.model))
            self._right = torch.stack([gaussian_low(each) for each in losses]).float()
            if bool((self._right <= self.threshold).all(1).any()):
                logger.warning("dividemix: no label is kept in this epoch; lower method.threshold (%g)", self.threshold)

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        kept = {} if self._right is None else {"weight": self._right[1, batch.index].mean()}
        return {**super().step(batch), **kept}

    def _loss_of(self, number: int, model: nn.Module, batch: Batch) -> Tensor:
        if self._right is None:
            return batch.weighted(self.setup.loss(model(batch.inputs), batch.labels)).mean()
        right = self._right[1 - number, batch.index].to(batch.inputs.device)  # by the other network
        views = [batch.inputs, another_view(self.setup, batch)]
        targets = self._targets(model, batch, views, right).repeat(2, 1)
        labeled = (right > self.threshold).repeat(2)
        inputs = torch.cat(views)
        mix = checked_draw(inputs, self.mixup, self.setup.generator)
        logits, targets = model(mix.inputs(inputs)), mix.inputs(targets)
        scale = batch.scale.repeat(2) if isinstance(batch.scale, Tensor) else 1.0
        supervised = (scale * self.setup.loss(logits, targets)).where(labeled, 0.0).sum() / labeled.sum().clamp_min(1)
        apart = scale * (logits.softmax(1) - targets).square().mean(1)
        unlabeled = apart.where(~labeled, 0.0).sum() / (~labeled).sum().clamp_min(1)
        factor = self.factor * ramp(self._epoch, self.ramp_epochs)
        return supervised + factor * unlabeled + unlike_shares(logits, self._log_shares)

    @torch.no_grad()
    def _targets(self, model: nn.Module, batch: Batch, views: list[Tensor], right: Tensor) -> Tensor:
        """Refined labels where the given one is kept, guessed ones elsewhere; shape (n, num_classes)."""
        own, theirs = (
            torch.stack([net(view).softmax(1) for view in views]).mean(0)
            for net in (model, self._peer.model if model is self._model else self._model)
        )
        refined = torch.lerp(own, as_rows(batch.labels, own), right.to(own)[:, None])
        return sharpened(refined.where((right > self.threshold)[:, None], (own + theirs) / 2), self.temperature)

    def sample_weights(self) -> Tensor | None:
        return None if self._right is None else self._right.mean(0)

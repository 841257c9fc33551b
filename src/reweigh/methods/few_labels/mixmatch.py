"""MixMatch: guess labels of unlabeled samples from several views, then mix all samples in pairs."""

from typing import Annotated

import torch
from annotated_types import Ge, Gt, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.losses.labels import as_rows
from reweigh.methods.few_labels.labeled_only import LabeledOnly
from reweigh.methods.parts.guesses import sharpened
from reweigh.methods.parts.ramp import ramp
from reweigh.methods.parts.views import another_view
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels.mixup import check_mixable, draw_each


class MixMatch(LabeledOnly):
    """MixMatch (Berthelot et al., NeurIPS 2019): mixtures must be classified as mixtures of labels and guesses.

    The guess q for an unlabeled sample is the mean prediction over several views, sharpened to q^(1 / T) / sum. Labeled
    samples and all views form a pool; each is mixed with another one drawn from it, and its own share is at least half:

        mean of L(f(x'), y') over labeled + factor(t) * mean of |softmax f(u') - q'|^2 / num_classes over views

    The factor rises linearly. This works for any data, but views must differ, by transforms or dropout.

    Berthelot, Carlini, Goodfellow, Oliver, Papernot, Raffel: MixMatch: A Holistic Approach to Semi-Supervised Learning.

    Args:
        factor: Final factor of the unlabeled term. Paper: lambda_U, 75 for CIFAR-10 with Adam. With SGD and momentum,
            75 soon makes all predictions the same.
        ramp_epochs: Number of epochs after the warm-up until the factor is reached. Paper: the first 16,000 steps.
        temperature: Temperature of the guesses; below 1 sharpens them. Paper: T.
        views: Number of views of each unlabeled sample. Paper: K.
        mixup: Strength of mixing samples in pairs; 0 mixes none. Paper: alpha.
        labeled_batch: Number of samples in a labeled batch.
        average: Decay of the EMA of the model, as in ``labeled-only``.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        factor: Annotated[float, Ge(0)] = 10.0,
        ramp_epochs: Annotated[int, Ge(0)] = 10,
        temperature: Annotated[float, Gt(0)] = 0.5,
        views: Annotated[int, Ge(1)] = 2,
        mixup: Annotated[float, Ge(0)] = 0.75,
        labeled_batch: Annotated[int, Ge(1)] = 64,
        average: Annotated[float, Ge(0), Lt(1)] = 0.999,
    ):
        super().__init__(setup, labeled_batch=labeled_batch, average=average)
        self._factor = factor
        self._ramp_epochs = ramp_epochs
        self._temperature = temperature
        self._views = views
        self._mixup = mixup

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        check_mixable(batch.inputs, self._mixup)
        views = [batch.inputs, *(another_view(self._setup, batch) for _ in range(self._views - 1))]
        guess = self._guess(views)
        known = as_rows(labeled.labels, guess[:1].expand(len(labeled), -1))
        inputs, targets = self._mixed(
            torch.cat([labeled.inputs, *views]), torch.cat([known, guess.repeat(self._views, 1)])
        )
        logits, n = self._model(inputs), len(labeled)
        supervised = labeled.weighted(self._setup.loss(logits[:n], targets[:n])).mean()
        apart = (logits[n:].softmax(1) - targets[n:]).square().mean(1)
        apart = batch.weighted(apart.view(self._views, len(batch)).mean(0))
        factor = self._factor * ramp("linear", self._epoch, self._ramp_epochs)
        return supervised + factor * apart.mean(), {}

    def _guess(self, views: list[Tensor]) -> Tensor:
        """The label of each sample as its views suggest it, shape (n, num_classes)."""
        return sharpened(torch.stack([self._predicted(view) for view in views]).mean(0), self._temperature)

    def _mixed(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Each sample mixed with another of the pool, by its own share."""
        if not self._mixup:
            return inputs, targets
        mix = draw_each(len(inputs), self._mixup, self._setup.generator, inputs.device)
        return mix.inputs(inputs), mix.labels(targets, targets.shape[1])

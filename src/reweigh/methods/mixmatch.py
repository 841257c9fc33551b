"""MixMatch: guess labels of unlabeled samples from several views, then mix all samples in pairs."""

from typing import Annotated, Any

import numpy as np
import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.errors import DataError
from reweigh.methods.pi_model import another_view
from reweigh.methods.ramp import ramp
from reweigh.methods.semi_supervised import LabeledOnly
from reweigh.methods.setup import Setup
from reweigh.methods.variant import extends


@extends(LabeledOnly)
class MixMatch(LabeledOnly):
    """MixMatch (Berthelot et al., NeurIPS 2019).

    The guess q for an unlabeled sample is the mean prediction over some views, sharpened to q^(1 / T) / sum. Labeled
    samples and all views then form a pool, W; each is mixed with one drawn from it, its own share being at least half:

        mean of L(f(x'), y') over labeled + factor(t) * mean of |softmax f(u') - q'|^2 / num_classes over views

    The factor rises linearly. Needs no images, but something that tells views apart: transforms, or dropout.

    Berthelot, Carlini, Goodfellow, Oliver, Papernot, Raffel: MixMatch: A Holistic Approach to Semi-Supervised Learning.

    Args:
        factor: how much unlabeled samples count in the end. Paper: lambda_U, 75 for CIFAR-10, with Adam;
            by gradient descent with momentum so much soon makes all predictions alike.
        ramp_epochs: until then, counted from the end of the warm-up. Paper: the first 16,000 steps.
        temperature: below 1 sharpens. Paper: T.
        views: of each unlabeled sample. Paper: K.
        mixup: strength of mixing; 0 mixes nothing. Paper: alpha.
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
        **options: Any,
    ):
        super().__init__(setup, **options)
        self._factor = factor
        self._ramp_epochs = ramp_epochs
        self._temperature = temperature
        self._views = views
        self._mixup = mixup

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        if self._mixup and not batch.inputs.is_floating_point():
            raise DataError(f"mixup cannot mix inputs of {batch.inputs.dtype}; set method.mixup = 0")
        views = [batch.inputs, *(another_view(self._setup, batch) for _ in range(self._views - 1))]
        guess = self._guess(views)
        known = labeled.labels
        rows = F.one_hot(known, guess.shape[1]).to(guess) if known.dim() == 1 else known.to(guess)
        inputs, targets = self._mixed(
            torch.cat([labeled.inputs, *views]), torch.cat([rows, guess.repeat(self._views, 1)])
        )
        logits, n = self._model(inputs), len(labeled)
        supervised = labeled.weighted(self._setup.loss(logits[:n], targets[:n])).mean()
        apart = (logits[n:].softmax(1) - targets[n:]).square().mean(1)
        apart = batch.weighted(apart.view(self._views, len(batch)).mean(0))
        factor = self._factor * ramp("linear", self._epoch, self._ramp_epochs)
        return supervised + factor * apart.mean(), {}

    def _guess(self, views: list[Tensor]) -> Tensor:
        """The label of each sample as its views suggest it, shape (n, num_classes)."""
        mean = torch.stack([self._predicted(view) for view in views]).mean(0)
        return (mean.log() / self._temperature).softmax(1)

    def _mixed(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Each sample mixed with another of the pool, by a share of its own."""
        if not self._mixup:
            return inputs, targets
        generator = self._setup.generator
        seed = int(torch.randint(2**62, (), generator=generator))  # torch's Beta takes no generator, NumPy's does
        drawn = np.random.default_rng(seed).beta(self._mixup, self._mixup, len(inputs))
        share = torch.from_numpy(np.maximum(drawn, 1 - drawn)).to(inputs)
        partner = torch.randperm(len(inputs), generator=generator).to(inputs.device)
        of_inputs = share.view(-1, *[1] * (inputs.dim() - 1))
        mixed = of_inputs * inputs + (1 - of_inputs) * inputs[partner]
        return mixed, share.unsqueeze(1) * targets + (1 - share.unsqueeze(1)) * targets[partner]

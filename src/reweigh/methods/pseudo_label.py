"""Pseudo-Label: unlabeled samples are trained on with the class that the model finds likeliest."""

from typing import Annotated, Any

from annotated_types import Ge, Le
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.methods.ramp import ramp
from reweigh.methods.semi_supervised import LabeledOnly, together
from reweigh.methods.setup import Setup
from reweigh.methods.variant import extends


@extends(LabeledOnly)
class PseudoLabel(LabeledOnly):
    """Pseudo-Label (Lee, ICML workshop 2013): the likeliest class is taken as if it were the true one.

        mean of L(f(x), y) over labeled + factor(t) * mean of L(f(u), arg max f(u)) over all

    The factor is 0 in the warm-up (paper: until epoch T1 = 100) and then rises linearly (to T2 = 600). Needs no
    images. Without the paper's pre-training by a denoising auto-encoder.

    Lee: Pseudo-Label: The Simple and Efficient Semi-Supervised Learning Method for Deep Neural Networks.

    Args:
        factor: how much unlabeled samples count in the end. Paper: alpha_f.
        ramp_epochs: until then, counted from the end of the warm-up. Paper: T2 - T1.
        threshold: pseudo-labels of less probability are left out; the paper takes all, later work 0.95.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        factor: Annotated[float, Ge(0)] = 3.0,
        ramp_epochs: Annotated[int, Ge(0)] = 10,
        threshold: Annotated[float, Ge(0), Le(1)] = 0.0,
        **options: Any,
    ):
        super().__init__(setup, **options)
        self._factor = factor
        self._ramp_epochs = ramp_epochs
        self._threshold = threshold

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        loss = self._setup.loss
        known, logits = together(self._model, labeled, batch.inputs)
        confidence, pseudo = logits.detach().softmax(1).max(1)
        kept = (confidence >= self._threshold).to(logits.dtype)
        unlabeled = (kept * batch.weighted(loss(logits, pseudo))).mean()
        factor = self._factor * ramp("linear", self._epoch, self._ramp_epochs)
        total = labeled.weighted(loss(known, labeled.labels)).mean() + factor * unlabeled
        return total, self._pseudo.note(batch.index, pseudo, kept)

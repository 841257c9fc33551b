"""Pseudo-Label: train unlabeled samples with the class that the model finds likeliest."""

from typing import Annotated

from annotated_types import Ge, Le, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.methods.few_labels.labeled_only import LabeledOnly
from reweigh.methods.parts.labeled_batches import together
from reweigh.methods.parts.ramp import ramp
from reweigh.methods.setup import Setup


class PseudoLabel(LabeledOnly):
    """Pseudo-Label (Lee, ICML workshop 2013): the likeliest class serves as the label.

        mean of L(f(x), y) over labeled + factor(t) * mean of L(f(u), arg max f(u)) over all

    The factor is 0 during the warm-up (paper: until epoch T1 = 100) and then rises linearly (paper: until T2 = 600).
    This works for any data, not only images. Left out: the paper's pre-training by a denoising auto-encoder.

    Lee: Pseudo-Label: The Simple and Efficient Semi-Supervised Learning Method for Deep Neural Networks.

    Args:
        factor: Final factor of the unlabeled term. Paper: alpha_f.
        ramp_epochs: Number of epochs after the warm-up until the factor is reached. Paper: T2 - T1.
        threshold: Smallest probability of a pseudo-label that is used. The paper uses all pseudo-labels; later work
            sets 0.95.
        labeled_batch: Number of samples in a labeled batch.
        average: Decay of the EMA of the model, as in ``labeled-only``.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        factor: Annotated[float, Ge(0)] = 3.0,
        ramp_epochs: Annotated[int, Ge(0)] = 10,
        threshold: Annotated[float, Ge(0), Le(1)] = 0.0,
        labeled_batch: Annotated[int, Ge(1)] = 64,
        average: Annotated[float, Ge(0), Lt(1)] = 0.999,
    ):
        super().__init__(setup, labeled_batch=labeled_batch, average=average)
        self._factor = factor
        self._ramp_epochs = ramp_epochs
        self._threshold = threshold

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        loss = self._setup.loss
        known, logits = together(self._model, labeled, batch.inputs)
        confidence, pseudo = logits.detach().softmax(1).max(1)
        kept = (confidence >= self._threshold).to(logits.dtype)
        unlabeled = (kept * batch.weighted(loss(logits, pseudo))).mean()
        factor = self._factor * ramp("linear", self._epoch, self._ramp_epochs)
        total = labeled.weighted(loss(known, labeled.labels)).mean() + factor * unlabeled
        return total, self._guesses.note(batch.index, pseudo, kept)

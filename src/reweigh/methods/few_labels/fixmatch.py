"""FixMatch: strongly distorted images should be classified as the images themselves are with confidence."""

from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.methods.few_labels.labeled_only import LabeledOnly
from reweigh.methods.parts.labeled_batches import together
from reweigh.methods.parts.views import StrongView
from reweigh.methods.setup import Setup


class FixMatch(LabeledOnly):
    """FixMatch (Sohn et al., NeurIPS 2020): confident pseudo-labels of weak views train strong views.

        mean of L(f(x), y) over labeled + factor * mean of 1(max p >= threshold) L(f(strong u), arg max p) over all

    p is what the model predicts for the weak view, the ordinary batch, held constant. Labeled samples are among the
    unlabeled ones too, as in the paper, whose batches are 64 and 448.

    Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel: FixMatch: Simplifying Semi-Supervised Learning
    with Consistency and Confidence.

    Args:
        threshold: smallest probability of a pseudo-label that is used. Paper: tau.
        factor: factor of the unlabeled term. Paper: lambda_u.
        magnitude: strength of the strong view's distortions, between 0 and 30.
        labeled_batch: number of samples in a labeled batch.
        average: decay of the EMA of the model, as in ``labeled-only``.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        threshold: Annotated[float, Ge(0), Le(1)] = 0.95,
        factor: Annotated[float, Ge(0)] = 1.0,
        magnitude: Annotated[int, Gt(0), Lt(30)] = 10,
        labeled_batch: Annotated[int, Ge(1)] = 64,
        average: Annotated[float, Ge(0), Lt(1)] = 0.999,
    ):
        super().__init__(setup, labeled_batch=labeled_batch, average=average)
        self._strong = StrongView(setup, "fixmatch", magnitude)
        self._threshold = threshold
        self._factor = factor

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        loss = self._setup.loss
        confidence, pseudo = self._predicted(batch.inputs).max(1)
        known, logits = together(self._model, labeled, self._strong(batch.index))
        kept = (confidence >= self._threshold).to(logits.dtype)
        unlabeled = (kept * batch.weighted(loss(logits, pseudo))).mean()
        total = labeled.weighted(loss(known, labeled.labels)).mean() + self._factor * unlabeled
        return total, self._guesses.note(batch.index, pseudo, kept)

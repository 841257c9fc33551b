"""FixMatch: strongly distorted images should be classified as the images themselves are with confidence."""

from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.objective import Forward, Loss, Objective, Terms
from reweigh.methods.few_labels.labeled_only import LabeledOnly
from reweigh.methods.parts.labeled_batches import together
from reweigh.methods.parts.views import StrongView
from reweigh.methods.setup import Setup


class FixMatch(LabeledOnly):
    """FixMatch (Sohn et al., NeurIPS 2020): strong views learn from confident pseudo-labels of weak views.

        mean of L(f(x), y) over labeled + factor * mean of 1(max p >= threshold) L(f(strong u), arg max p) over all

    p is what the model predicts for the weak view, which is the ordinary batch; no gradient flows through it. Labeled
    samples also count as unlabeled ones, as in the paper, which has batches of 64 and 448.

    Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel: FixMatch: Simplifying Semi-Supervised Learning
    with Consistency and Confidence.

    Args:
        threshold: Smallest probability of a pseudo-label that is used. Paper: tau.
        factor: Factor of the unlabeled term. Paper: lambda_u.
        magnitude: Strength of the strong view's distortions, between 0 and 30.
        labeled_batch: Number of samples in a labeled batch.
        average: Decay of the EMA of the model, as in ``labeled-only``.
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
        confidence, pseudo = self._predicted(batch.inputs).max(1)
        views = self._strong(batch.index)
        terms = weighted_guesses(self._setup.loss, labeled, views, pseudo, self._factor, batch.scale)(self._model)
        kept = (confidence >= self._threshold).to(terms.losses.dtype)
        return (kept * terms.coefficients).mean() + terms.rest, self._guesses.note(batch.index, pseudo, kept)


def weighted_guesses(
    loss: Loss, labeled: Batch, views: Tensor, pseudo: Tensor, factor: float = 1.0, scale: Tensor | float = 1.0
) -> Objective:
    """The weight of each unlabeled sample times the loss of its strong view; the labeled batch is not weighted.

    Args:
        views: Shape (n, ...), strong views of the unlabeled samples.
        pseudo: Shape (n,), their pseudo-labels, without a gradient.
        factor: Factor of the unlabeled term.
        scale: Shape (n,), the sample weights that the user gives them.
    """

    def objective(forward: Forward) -> Terms:
        known, logits = together(forward, labeled, views)
        losses = loss(logits, pseudo)
        supervised = labeled.weighted(loss(known, labeled.labels)).mean()
        return Terms(factor * scale * losses, losses, supervised, len(losses), logits)

    return objective

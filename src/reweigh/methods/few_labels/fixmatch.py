"""FixMatch: learn from confident predictions for unlabeled samples; and with learned weights instead of a threshold."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor, nn

from reweigh.core.objective import Batch, Forward, Loss, Objective, Terms
from reweigh.families import Families
from reweigh.meta_sets import Labeled
from reweigh.methods.few_labels.consistency import LabeledOnly
from reweigh.methods.parts.batches import StrongView, Trusted, together
from reweigh.methods.setup import Setup


@dataclass(eq=False, repr=False, kw_only=True)
class FixMatch(LabeledOnly):
    """FixMatch (Sohn et al., NeurIPS 2020): strong views learn from confident pseudo-labels of weak views.

        mean of L(f(x), y) over labeled + factor * mean of 1(max p >= threshold) L(f(strong u), arg max p) over all

    p is what the model predicts for the weak view, which is the ordinary batch; no gradient flows through it. Labeled
    samples also count as unlabeled ones, as in the paper, which has batches of 64 and 448.

    Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel: FixMatch: Simplifying Semi-Supervised Learning
    with Consistency and Confidence. Takes all options of ``labeled-only``, and:

    Args:
        threshold: Smallest probability of a pseudo-label that is used. Paper: tau.
        factor: Factor of the unlabeled term. Paper: lambda_u.
        magnitude: Strength of the strong view's distortions, between 0 and 30.
    """

    threshold: Annotated[float, Ge(0), Le(1)] = 0.95
    factor: Annotated[float, Ge(0)] = 1.0
    magnitude: Annotated[int, Gt(0), Lt(30)] = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self._strong = StrongView(self.setup, "fixmatch", self.magnitude)

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        confidence, pseudo = self._predicted(batch.inputs).max(1)
        views = self._strong(batch.index)
        terms = weighted_guesses(self.setup.loss, labeled, views, pseudo, self.factor, batch.scale)(self._model)
        kept = (confidence >= self.threshold).to(terms.losses.dtype)
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


class FixMatchCMWNet(FixMatch):
    """FixMatch with a learned weight in place of its threshold. Paper: Sec. 7.2.

        mean of L(f(x), y) over labeled + factor * mean of V(L_u, N_u) L_u over all,    L_u = L(f(strong u), arg max p)

    p is what the model predicts for the weak view; no gradient flows through it. The labeled samples are also the
    trusted ones, unless the recipe names a clean file; other meta sets need a label for every sample. The class of an
    unlabeled sample is only known from its pseudo-label. So class sizes are the counts of the latest pseudo-labels, and
    families are computed from them again in each epoch; the first families come from the given labels.

    Takes all options of ``Reweighter``, and:

    Args:
        factor: Factor of the unlabeled term. Paper: alpha, FixMatch's lambda_u.
        magnitude: Strength of the strong view's distortions, between 0 and 30.
        families: Number of curves; it stays the same even if classes have fewer distinct sizes for a while.
        normalize: How weights are scaled in a batch. With "mean", a batch in which nothing can be trusted counts
            little, as with FixMatch's threshold.
        labeled_batch: Number of samples in a labeled batch.
        average: Decay of the EMA of the model, as in ``labeled-only``.
    """

    learns_weights = True
    state = ("_reweighter", "_trusted")

    def __init__(
        self,
        setup: Setup,
        *,
        factor: Annotated[float, Ge(0)] = 1.0,
        magnitude: Annotated[int, Gt(0), Lt(30)] = 10,
        families: Annotated[int, Ge(1)] = 3,
        normalize: Literal["mean", "weight-sum", "weight-sum-differentiated"] = "mean",
        labeled_batch: Annotated[int, Ge(1)] = 64,
        average: Annotated[float, Ge(0), Lt(1)] = 0.999,
    ):
        super().__init__(setup, factor=factor, magnitude=magnitude, labeled_batch=labeled_batch, average=average)
        self._reweighter = setup.reweighter(
            setup.model,
            setup.optimizer,
            setup.train_set.labels[setup.train_set.labeled],
            num_classes=setup.train_set.num_classes,
            loss=setup.loss,
            families=families,
            spare_curves=True,
            normalize=normalize,
        )
        fits = setup.clean_set is not None or isinstance(setup.meta_set, Labeled)
        self._trusted = Trusted(setup if fits else replace(setup, meta_set=Labeled()))

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if warm_up:
            return
        self._trusted.refresh()
        pseudo = self._guesses.labels.cpu()
        if bool((pseudo >= 0).any()):
            self._reweighter.refresh(pseudo[pseudo >= 0])

    def _descend(self, labeled: Batch, batch: Batch) -> Mapping[str, float | Tensor]:
        if self._warm_up:
            return super()._descend(labeled, batch)
        pseudo = self._predicted(batch.inputs).argmax(1)
        views = self._strong(batch.index)
        objective = weighted_guesses(self.setup.loss, labeled, views, pseudo, self.factor, batch.scale)
        trusted = self._trusted.next(len(labeled)) if self._reweighter.due else (None, None)
        step = self._reweighter.step_on(objective, pseudo, *trusted)
        return {**step.scalars(), **self._guesses.note(batch.index, pseudo, step.weights)}

    def families(self) -> Families | None:
        return self._reweighter.families

    def weight_net(self) -> nn.Module | None:
        return self._reweighter.weight_net

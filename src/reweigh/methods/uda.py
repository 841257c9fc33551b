"""UDA: strongly distorted images should be classified as the images themselves are, where the model is sure."""

from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.methods.ramp import ramp
from reweigh.methods.semi_supervised import LabeledOnly, together
from reweigh.methods.setup import Setup
from reweigh.methods.strong_view import StrongView
from reweigh.methods.variant import extends


@extends(LabeledOnly)
class UDA(LabeledOnly):
    """Unsupervised data augmentation (Xie et al., NeurIPS 2020): sharpened predictions as soft labels of strong views.

        mean of L(f(x), y) over labeled + factor * mean of 1(max p > threshold) L(f(strong u), p^(1 / T) / sum) over all

    p is what the model predicts for the weak view, held constant. The divergence in the paper differs by what has no
    derivative. With ``annealing`` labeled samples whose label is likelier than a bound are left out for the time being;
    the bound rises from 1 / num_classes to 1, slowest with "exp", which the paper takes where labels are few.

    Xie, Dai, Hovy, Luong, Le: Unsupervised Data Augmentation for Consistency Training.

    Args:
        factor: how much unlabeled samples count. Paper: lambda.
        threshold: predictions with less probability are left out. Paper: beta.
        temperature: below 1 sharpens. Paper: tau.
        magnitude: of the strong view's distortions, between 0 and 30.
        annealing: training signal annealing, how the bound rises.
        annealing_epochs: until it is 1, counted from the end of the warm-up; the paper's is all of training.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        factor: Annotated[float, Ge(0)] = 1.0,
        threshold: Annotated[float, Ge(0), Le(1)] = 0.8,
        temperature: Annotated[float, Gt(0)] = 0.4,
        magnitude: Annotated[int, Gt(0), Lt(30)] = 10,
        annealing: Literal["none", "linear", "log", "exp"] = "none",
        annealing_epochs: Annotated[int, Ge(0)] = 10,
        **options: Any,
    ):
        super().__init__(setup, **options)
        self._strong = StrongView(setup, "uda", magnitude)
        self._factor = factor
        self._threshold = threshold
        self._temperature = temperature
        self._annealing = annealing
        self._annealing_epochs = annealing_epochs

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        predicted = self._predicted(batch.inputs)
        known, logits = together(self._model, labeled, self._strong(batch.index))
        confidence, likeliest = predicted.max(1)
        kept = (confidence > self._threshold).to(logits.dtype)
        sharpened = (predicted.log() / self._temperature).softmax(1)
        unlabeled = (kept * batch.weighted(self._setup.loss(logits, sharpened))).mean()
        return self._supervised(known, labeled) + self._factor * unlabeled, self._pseudo.note(
            batch.index, likeliest, kept
        )

    def _supervised(self, logits: Tensor, labeled: Batch) -> Tensor:
        losses = labeled.weighted(self._setup.loss(logits, labeled.labels))
        if self._annealing == "none":
            return losses.mean()
        classes = labeled.labels.argmax(1) if labeled.labels.dim() == 2 else labeled.labels
        likelihood = logits.detach().softmax(1).gather(1, classes.unsqueeze(1)).squeeze(1)
        lowest = 1 / logits.shape[1]
        bound = lowest + (1 - lowest) * ramp(self._annealing, self._epoch, self._annealing_epochs)
        kept = (likelihood <= bound).to(losses.dtype)
        return (kept * losses).sum() / torch.clamp(kept.sum(), min=1)

"""UDA: strongly distorted images should be classified as the images themselves are, if the model is confident."""

from typing import Annotated, Literal

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.methods.few_labels.labeled_only import LabeledOnly
from reweigh.methods.parts.guesses import sharpened
from reweigh.methods.parts.labeled_batches import together
from reweigh.methods.parts.ramp import ramp
from reweigh.methods.parts.views import StrongView
from reweigh.methods.setup import Setup


class UDA(LabeledOnly):
    """Unsupervised data augmentation (Xie et al., NeurIPS 2020): strong views learn from sharpened predictions.

        mean of L(f(x), y) over labeled + factor * mean of 1(max p > threshold) L(f(strong u), p^(1 / T) / sum) over all

    p is what the model predicts for the weak view; no gradient flows through it. The divergence in the paper differs by
    a constant. With ``annealing``, labeled samples whose label is more probable than a bound are left out. The bound
    rises from 1 / num_classes to 1; it rises slowest with "exp", which the paper uses if labels are few.

    Xie, Dai, Hovy, Luong, Le: Unsupervised Data Augmentation for Consistency Training.

    Args:
        factor: Factor of the unlabeled term. Paper: lambda.
        threshold: Smallest probability of a prediction that is used. Paper: beta.
        temperature: Temperature of the soft labels; below 1 sharpens them. Paper: tau.
        magnitude: Strength of the strong view's distortions, between 0 and 30.
        annealing: Shape of the rise of the bound of training signal annealing.
        annealing_epochs: Number of epochs after the warm-up until the bound is 1. Paper: all epochs.
        labeled_batch: Number of samples in a labeled batch.
        average: Decay of the EMA of the model, as in ``labeled-only``.
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
        labeled_batch: Annotated[int, Ge(1)] = 64,
        average: Annotated[float, Ge(0), Lt(1)] = 0.999,
    ):
        super().__init__(setup, labeled_batch=labeled_batch, average=average)
        self._strong = StrongView(setup, "uda", magnitude)
        self._factor = factor
        self._threshold = threshold
        self._temperature = temperature
        self._annealing = annealing
        self._annealing_epochs = annealing_epochs

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        predicted = self._predicted(batch.inputs)
        known, logits = together(self._model, labeled, self._strong(batch.index))
        confidence, likeliest = predicted.max(1)
        kept = (confidence > self._threshold).to(logits.dtype)
        soft = sharpened(predicted, self._temperature)
        unlabeled = (kept * batch.weighted(self._setup.loss(logits, soft))).mean()
        total = self._supervised(known, labeled) + self._factor * unlabeled
        return total, self._guesses.note(batch.index, likeliest, kept)

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

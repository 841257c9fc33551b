"""Pi-model, Mean Teacher, MixMatch and UDA: views of an unlabeled sample should be classified alike."""

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.losses.cross_entropy import as_rows
from reweigh.methods.few_labels.labeled_only import LabeledOnly
from reweigh.methods.parts.guesses import gaussian_ramp, ramp, sharpened
from reweigh.methods.parts.labeled_batches import together
from reweigh.methods.parts.views import StrongView, another_view
from reweigh.pseudo_labels import predicted_in_training
from reweigh.pseudo_labels.mixup import check_mixable, draw_each


@dataclass(eq=False, repr=False, kw_only=True)
class PiModel(LabeledOnly):
    """Pi-model (Laine and Aila, ICLR 2017; Rasmus et al., NeurIPS 2015): two views must get the same prediction.

        mean of L(f(x), y) over labeled + factor(t) * mean of |p - p'|^2 / num_classes over all

    p and p' are the probabilities for two views of a sample, each with its own transforms and dropout; without
    transforms and dropout, the term is zero. The factor rises along exp(-5 (1 - t)^2). The paper divides both sums by
    the size of the whole batch, and its factor by the share of labeled samples; the ratio of both terms is the same.

    Laine, Aila: Temporal Ensembling for Semi-Supervised Learning. Rasmus, Valpola, Honkala, Berglund, Raiko:
    Semi-Supervised Learning with Ladder Networks. Takes all options of ``labeled-only``, and:

    Args:
        factor: Final factor of the unlabeled term. Paper: w_max, 100 for CIFAR-10 with Adam. With SGD and momentum, 100
            soon makes all predictions the same.
        ramp_epochs: Number of epochs after the warm-up until the factor is reached. Paper: 80 of 300 epochs.
    """

    factor: Annotated[float, Ge(0)] = 10.0
    ramp_epochs: Annotated[int, Ge(0)] = 10

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        known, first = together(self._model, labeled, batch.inputs)
        second = self._second(another_view(self.setup, batch))
        apart = (first.softmax(1) - second).square().mean(1)
        factor = self.factor * gaussian_ramp(self._epoch, self.ramp_epochs)
        supervised = labeled.weighted(self.setup.loss(known, labeled.labels)).mean()
        return supervised + factor * batch.weighted(apart).mean(), {}

    def _second(self, inputs: Tensor) -> Tensor:
        """Probabilities for the second view, shape (n, num_classes), by the same model."""
        return self._model(inputs).softmax(1)


class MeanTeacher(PiModel):
    """Mean Teacher (Tarvainen and Valpola, NeurIPS 2017): predictions must agree with those of an EMA of the model.

        mean of L(f(x), y) over labeled + factor(t) * mean of |p - teacher's p'|^2 / num_classes over all

    The teacher is the EMA of the model, which is also evaluated and saved; no gradient flows through its predictions.
    It predicts with dropout and the BatchNorm statistics of the batch, as the student does. Takes all options of
    ``pi-model``. In the paper, the factor is 100 (with Adam) and is reached after 40,000 of 150,000 steps; the decay is
    0.99 until then and 0.999 after.

    Tarvainen, Valpola: Mean Teachers Are Better Role Models.
    """

    def _second(self, inputs: Tensor) -> Tensor:
        return predicted_in_training(self._average.model, inputs)


@dataclass(eq=False, repr=False, kw_only=True)
class MixMatch(LabeledOnly):
    """MixMatch (Berthelot et al., NeurIPS 2019): mixtures must be classified as mixtures of labels and guesses.

    The guess q for an unlabeled sample is the mean prediction over several views, sharpened to q^(1 / T) / sum. Labeled
    samples and all views form a pool; each is mixed with another one drawn from it, and its own share is at least half:

        mean of L(f(x'), y') over labeled + factor(t) * mean of |softmax f(u') - q'|^2 / num_classes over views

    The factor rises linearly. This works for any data, but views must differ, by transforms or dropout.

    Berthelot, Carlini, Goodfellow, Oliver, Papernot, Raffel: MixMatch: A Holistic Approach to Semi-Supervised Learning.
    Takes all options of ``labeled-only``, and:

    Args:
        factor: Final factor of the unlabeled term. Paper: lambda_U, 75 for CIFAR-10 with Adam. With SGD and momentum,
            75 soon makes all predictions the same.
        ramp_epochs: Number of epochs after the warm-up until the factor is reached. Paper: the first 16,000 steps.
        temperature: Temperature of the guesses; below 1 sharpens them. Paper: T.
        views: Number of views of each unlabeled sample. Paper: K.
        mixup: Strength of mixing samples in pairs; 0 mixes none. Paper: alpha.
    """

    factor: Annotated[float, Ge(0)] = 10.0
    ramp_epochs: Annotated[int, Ge(0)] = 10
    temperature: Annotated[float, Gt(0)] = 0.5
    views: Annotated[int, Ge(1)] = 2
    mixup: Annotated[float, Ge(0)] = 0.75

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        check_mixable(batch.inputs, self.mixup)
        views = [batch.inputs, *(another_view(self.setup, batch) for _ in range(self.views - 1))]
        guess = self._guess(views)
        known = as_rows(labeled.labels, guess[:1].expand(len(labeled), -1))
        inputs, targets = self._mixed(
            torch.cat([labeled.inputs, *views]), torch.cat([known, guess.repeat(self.views, 1)])
        )
        logits, n = self._model(inputs), len(labeled)
        supervised = labeled.weighted(self.setup.loss(logits[:n], targets[:n])).mean()
        apart = (logits[n:].softmax(1) - targets[n:]).square().mean(1)
        apart = batch.weighted(apart.view(self.views, len(batch)).mean(0))
        factor = self.factor * ramp(self._epoch, self.ramp_epochs)
        return supervised + factor * apart.mean(), {}

    def _guess(self, views: list[Tensor]) -> Tensor:
        """The label of each sample as its views suggest it, shape (n, num_classes)."""
        return sharpened(torch.stack([self._predicted(view) for view in views]).mean(0), self.temperature)

    def _mixed(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Each sample mixed with another of the pool, by its own share."""
        if not self.mixup:
            return inputs, targets
        mix = draw_each(len(inputs), self.mixup, self.setup.generator, inputs.device)
        return mix.inputs(inputs), mix.labels(targets, targets.shape[1])


@dataclass(eq=False, repr=False, kw_only=True)
class UDA(LabeledOnly):
    """Unsupervised data augmentation (Xie et al., NeurIPS 2020): strong views learn from sharpened predictions.

        mean of L(f(x), y) over labeled + factor * mean of 1(max p > threshold) L(f(strong u), p^(1 / T) / sum) over all

    p is what the model predicts for the weak view; no gradient flows through it. The divergence in the paper differs by
    a constant. Left out: the paper's training signal annealing.

    Xie, Dai, Hovy, Luong, Le: Unsupervised Data Augmentation for Consistency Training. Takes all options of
    ``labeled-only``, and:

    Args:
        factor: Factor of the unlabeled term. Paper: lambda.
        threshold: Smallest probability of a prediction that is used. Paper: beta.
        temperature: Temperature of the soft labels; below 1 sharpens them. Paper: tau.
        magnitude: Strength of the strong view's distortions, between 0 and 30.
    """

    factor: Annotated[float, Ge(0)] = 1.0
    threshold: Annotated[float, Ge(0), Le(1)] = 0.8
    temperature: Annotated[float, Gt(0)] = 0.4
    magnitude: Annotated[int, Gt(0), Lt(30)] = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self._strong = StrongView(self.setup, "uda", self.magnitude)

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        predicted = self._predicted(batch.inputs)
        known, logits = together(self._model, labeled, self._strong(batch.index))
        confidence, likeliest = predicted.max(1)
        kept = (confidence > self.threshold).to(logits.dtype)
        soft = sharpened(predicted, self.temperature)
        unlabeled = (kept * batch.weighted(self.setup.loss(logits, soft))).mean()
        supervised = labeled.weighted(self.setup.loss(known, labeled.labels)).mean()
        return supervised + self.factor * unlabeled, self._guesses.note(batch.index, likeliest, kept)

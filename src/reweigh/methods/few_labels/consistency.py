"""Methods for few labels: on the labeled samples alone, with pseudo-labels, and with views that should agree."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor, nn

from reweigh.core.objective import Batch
from reweigh.losses.cross_entropy import as_rows
from reweigh.methods.erm import ERM, descend
from reweigh.methods.parts.batches import LabeledBatches, StrongView, another_view, together
from reweigh.methods.parts.guesses import Guesses, gaussian_ramp, ramp, sharpened
from reweigh.pseudo_labels import AveragedModel, check_mixable, draw_each, predicted_in_training


@dataclass(eq=False, repr=False, kw_only=True)
class LabeledOnly(ERM):
    """Plain training on the labeled samples, for as many steps as methods that also use the unlabeled ones.

    For each batch of the loop, which has labeled and unlabeled samples, a step also draws a labeled batch and learns
    from it. After the warm-up, the methods that build on this one add a term for the batch of the loop.

    Args:
        labeled_batch: Number of samples in a labeled batch.
        average: Decay of the EMA of the model, which is evaluated and saved; 0 is the model itself. After t steps, the
            decay is at most (1 + t) / (10 + t), so that the EMA forgets the beginning of a short training too.
    """

    unlabeled = True
    state = ("_labeled", "_average", "_steps", "_warm_up", "_epoch", "_guesses")

    labeled_batch: Annotated[int, Ge(1)] = 64
    average: Annotated[float, Ge(0), Lt(1)] = 0.999

    def __post_init__(self) -> None:
        super().__post_init__()
        self._labeled = LabeledBatches(self.setup, self.labeled_batch)
        self._average = AveragedModel(self.setup.model, self.average)
        self._steps = 0
        self._epoch = -1  # counted from the end of the warm-up
        self._guesses = Guesses(self.setup.train_set, self.setup.device)

    @property
    def model(self) -> nn.Module:
        return self._average.model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._epoch += not warm_up

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        labeled = self._labeled.next()
        numbers = self._descend(labeled, batch)
        self._average.decay = min(self.average, (1 + self._steps) / (10 + self._steps))
        self._average.update(self._model)
        self._steps += 1
        return numbers

    def _descend(self, labeled: Batch, batch: Batch) -> Mapping[str, float | Tensor]:
        if self._warm_up:
            loss, numbers = self._loss(labeled), {}
        else:
            loss, numbers = self._objective(labeled, batch)
        descend(loss, self.setup.optimizer)
        return {"loss": loss.detach(), **numbers}

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """What a step minimizes, a scalar, and numbers to log; methods that use the batch too override this."""
        return self._loss(labeled), {}

    @torch.no_grad()
    def _predicted(self, inputs: Tensor) -> Tensor:
        """Probabilities of the model as it trains, shape (n, num_classes), held constant."""
        return self._model(inputs).softmax(1)

    def sample_weights(self) -> Tensor | None:
        weights = self._guesses.weights
        return None if bool(weights.isnan().all()) else weights


@dataclass(eq=False, repr=False, kw_only=True)
class PseudoLabel(LabeledOnly):
    """Pseudo-Label (Lee, ICML workshop 2013): the likeliest class serves as the label.

        mean of L(f(x), y) over labeled + factor(t) * mean of L(f(u), arg max f(u)) over all

    The factor is 0 during the warm-up (paper: until epoch T1 = 100) and then rises linearly (paper: until T2 = 600).
    This works for any data, not only images. Left out: the paper's pre-training by a denoising auto-encoder.

    Lee: Pseudo-Label: The Simple and Efficient Semi-Supervised Learning Method for Deep Neural Networks.
    Takes all options of ``labeled-only``, and:

    Args:
        factor: Final factor of the unlabeled term. Paper: alpha_f.
        ramp_epochs: Number of epochs after the warm-up until the factor is reached. Paper: T2 - T1.
        threshold: Smallest probability of a pseudo-label that is used. The paper uses all pseudo-labels; later work
            sets 0.95.
    """

    factor: Annotated[float, Ge(0)] = 3.0
    ramp_epochs: Annotated[int, Ge(0)] = 10
    threshold: Annotated[float, Ge(0), Le(1)] = 0.0

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        loss = self.setup.loss
        known, logits = together(self._model, labeled, batch.inputs)
        confidence, pseudo = logits.detach().softmax(1).max(1)
        kept = (confidence >= self.threshold).to(logits.dtype)
        unlabeled = (kept * batch.weighted(loss(logits, pseudo))).mean()
        factor = self.factor * ramp(self._epoch, self.ramp_epochs)
        total = labeled.weighted(loss(known, labeled.labels)).mean() + factor * unlabeled
        return total, self._guesses.note(batch.index, pseudo, kept)


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

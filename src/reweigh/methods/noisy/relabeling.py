"""Labels are replaced along the way where the predictions of recent epochs contradict them: PLC and LRT."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor

from reweigh.core.method import Stateful
from reweigh.core.objective import Batch, Forward, Objective, Terms
from reweigh.methods.erm import ERM
from reweigh.methods.parts.guesses import warn_of_vanished


class RecentPredictions(Stateful):
    """The predictions of the last epochs, taken from the training steps, without another pass over the data.

    They take epochs x N x num_classes numbers of half precision.

    Args:
        samples: Number of training samples, N.
        num_classes: Number of classes.
        epochs: Number of epochs to remember.
    """

    state = ("_rows", "_seen", "_epoch")

    def __init__(self, samples: int, num_classes: int, epochs: int):
        self._rows = torch.zeros(epochs, samples, num_classes, dtype=torch.float16)
        self._seen = torch.zeros(epochs, samples, dtype=torch.bool)
        self._epoch = -1

    def start_epoch(self) -> None:
        """Begin an epoch: the oldest one is forgotten."""
        self._epoch += 1
        self._rows[self._now], self._seen[self._now] = 0, False

    @property
    def _now(self) -> int:
        return self._epoch % len(self._rows)

    def note(self, index: Tensor, rows: Tensor) -> None:
        """Remember what was predicted for some samples: indices, shape (n,), and rows, shape (n, num_classes)."""
        index = index.cpu()
        self._rows[self._now, index] = rows.detach().cpu().half()
        self._seen[self._now, index] = True

    def mean(self) -> tuple[Tensor, Tensor]:
        """The mean prediction of each sample, shape (N, num_classes), and in how many epochs it was seen, shape (N,).

        The row of a sample that was never seen is zero.
        """
        times = self._seen.sum(0)
        total = torch.zeros(self._rows.shape[1:])
        for epoch in self._rows:
            total += epoch
        return total / times.clamp_min(1)[:, None], times


@dataclass(eq=False, repr=False, kw_only=True)
class Relabeling(ERM):
    """What PLC and LRT share: after the warm-up, labels are reconsidered before each epoch.

    Attributes:
        labels: Shape (N,), the current labels.

    Args:
        window: Number of epochs whose predictions are averaged.
    """

    replaces_labels = True
    state = ("labels", "_recent", "_rounds")

    window: Annotated[int, Ge(1)] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        samples = self.setup.train_set
        self.labels = samples.labels.clone()
        self._recent = RecentPredictions(len(samples), samples.num_classes, self.window)
        self._rounds = 0

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if epoch > 0 and not warm_up:
            believed, times = self._recent.mean()
            labels = self._reconsidered(believed).where(times > 0, self.labels)
            warn_of_vanished(self.labels, labels, self.setup.train_set.class_names)
            self.labels = labels
            self._rounds += 1
        self._recent.start_epoch()

    def _reconsidered(self, believed: Tensor) -> Tensor:
        """The labels to go on with, shape (N,), given the mean predictions of recent epochs, shape (N, num_classes)."""
        raise NotImplementedError

    def objective(self, batch: Batch) -> Objective:
        return super().objective(replace(batch, labels=self.labels[batch.index].to(batch.inputs.device)))

    def follow(self, batch: Batch, outputs: Any) -> None:
        self._recent.note(batch.index, outputs.detach().softmax(1))


FEW_REPLACED = 1e-3  # share of replaced labels below which the threshold rises
THRESHOLD_STEP, MAX_THRESHOLD = 0.1, 0.9


@dataclass(eq=False, repr=False, kw_only=True)
class PLC(Relabeling):
    """Progressive label correction (Zhang et al., ICLR 2021): replace a label if another class is far likelier.

        replace y_i by arg max f_i    if  f_i[y_i] / max f_i < threshold

    f is the mean prediction in the training steps of the last epochs. Labels are replaced before each epoch after the
    warm-up (paper: 8 of 180 epochs). If fewer than 0.1 % of them are replaced, the threshold rises by 0.1, up to 0.9. A
    replaced label stays, unless it is replaced again.

    Zhang, Zheng, Wu, Goswami, Chen: Learning with Feature-Dependent Label Noise: A Progressive Approach. The paper
    reports the epoch with the best accuracy on clean validation data.

    Args:
        threshold: Ratio of likelihoods below which a label is replaced at first. Paper: 0.3 for CIFAR; 1 - theta.
        window: Number of epochs whose predictions are averaged.
    """

    state = ("threshold",)

    threshold: Annotated[float, Gt(0), Le(1)] = 0.3

    def _reconsidered(self, believed: Tensor) -> Tensor:
        labels = progressed(self.labels, believed, self.threshold)
        if float((labels != self.labels).double().mean()) < FEW_REPLACED:
            self.threshold = max(self.threshold, min(self.threshold + THRESHOLD_STEP, MAX_THRESHOLD))
        return labels


def progressed(labels: Tensor, believed: Tensor, threshold: float) -> Tensor:
    """Labels, shape (N,), or the likeliest class where ``believed``, shape (N, num_classes), has it far likelier."""
    own = believed.gather(1, labels[:, None]).squeeze(1)
    most, likeliest = believed.max(1)
    return likeliest.where(own < threshold * most, labels)


RATIO_STEP = 0.02  # by how much the ratio rises in each epoch
EPOCHS_TO_UPDATE = 40  # epochs after which the labels of the second loss are updated


@dataclass(eq=False, repr=False, kw_only=True)
class LRT(Relabeling):
    """Likelihood ratio test, or AdaCorr (Zheng et al., ICML 2020): replace a label if another class passes the test.

        replace y_i by arg max f_i    if  max f_i / f_i[y_i] > ratio + 0.02 t

    f is the mean prediction of the last epochs, and t counts the epochs since the warm-up (paper: 30 of 180 epochs). A
    second loss uses the labels from when correction began (updated every 40 epochs) and keeps training near them. The
    released code uses a matrix of N x num_classes x num_classes numbers for this.

    Zheng, Wu, Goswami, Goswami, Metaxas, Chen: Error-Bounded Correction of Noisy Labels. Left out: its labels of 0.99
    and 0.01, and a new optimizer in each epoch.

    Args:
        ratio: Ratio of likelihoods above which a label is replaced at first. Paper: 1.2; delta.
        window: Number of epochs whose predictions are averaged.
        retroactive: Factor of the second loss. Released code: 0.9.
    """

    state = ("_before",)

    ratio: Annotated[float, Gt(1)] = 1.2
    window: Annotated[int, Ge(1)] = 10
    retroactive: Annotated[float, Ge(0)] = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self._before: Tensor | None = None

    def _reconsidered(self, believed: Tensor) -> Tensor:
        if self._rounds % EPOCHS_TO_UPDATE == 0:
            self._before = self.labels.clone()
        return progressed(self.labels, believed, 1 / (self.ratio + RATIO_STEP * (self._rounds + 1)))

    def objective(self, batch: Batch) -> Objective:
        inner = super().objective(batch)
        if self._before is None or not self.retroactive:
            return inner
        before = self._before[batch.index].to(batch.inputs.device)

        def both(forward: Forward) -> Terms:
            terms = inner(forward)
            second = batch.weighted(self.setup.loss(terms.outputs, before)).mean()
            return terms._replace(rest=terms.rest + self.retroactive * second)

        return both

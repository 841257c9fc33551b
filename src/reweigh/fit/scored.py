"""Predictions of any model, how sure each is, and the metrics that they come to."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.data.findings import LONG_TAIL
from reweigh.errors import DataError
from reweigh.fit.decision import Decision
from reweigh.issues import chunks
from reweigh.models.selective import Ranked, selects
from reweigh.selective import LEVELS, area, error_at, log_odds, risk_coverage
from reweigh.training import labels_of, predict

MANY_SHOT_SIZE, FEW_SHOT_SIZE = 100, 20  # training samples of a class
TOP5_FROM = 10  # classes
METRIC_BY_AIM = {"accuracy": "accuracy", "balanced": "balanced_accuracy", "log-loss": "log_loss"}  # metric by aim


class Scored(NamedTuple):
    """The predictions of a model for n samples.

    Attributes:
        scores: Shape (n,), float64 in [0, 1]: what the selection head says, if the model has one, or else the largest
            probability. They rank samples for one model; they cannot be compared between models.
        labels: Shape (n,), the labels to judge them by; None if unknown.
    """

    logits: Tensor
    scores: Tensor
    labels: Tensor | None = None

    @property
    def probabilities(self) -> Tensor:
        """Shape (n, num_classes), float32 computed in double precision: each face prints the same digits."""
        found = torch.empty_like(self.logits, dtype=torch.float32)
        for some in chunks(*self.logits.shape):
            found[some] = self.logits[some].double().softmax(1).float()
        return found

    def part(self, first: int) -> "Scored":
        """The samples from the one at ``first`` on."""
        return Scored(*(None if each is None else each[first:] for each in self))  # pyright: ignore[reportArgumentType]

    def decided(self, decision: Decision, selects: bool) -> "Scored":
        """The predictions for the class shares that will be met.

        Args:
            selects: Whether the scores are those of a selection head, which stay.
        """
        if decision.shares is None:
            return self
        logits = decision.logits(self.logits)
        return Scored(logits, self.scores if selects else log_odds(logits.double()).sigmoid(), self.labels)


def scored(model: nn.Module, dataset: Dataset, device: str | torch.device = "cpu") -> Scored:
    """Logits and scores of every sample, on the CPU."""
    both = predict(Ranked(model), dataset, device)
    return Scored(both[:, :-1], both[:, -1].double().sigmoid())


def judged_by(
    test_sets: Mapping[str, Dataset],
    class_sizes: Tensor,
    device: torch.device,
    abstains: bool,
    decision: Decision | None = None,
    aim: str = "accuracy",
) -> Callable[[nn.Module], dict[str, float]]:
    """A function that judges a model on some test sets.

    Args:
        test_sets: By what the names of their numbers begin with; nothing for the main one.
        aim: what is reported first, see ``TrainOptions``.
    """

    def judged(model: nn.Module) -> dict[str, float]:
        numbers = {}
        for name, dataset in test_sets.items():
            found = scored(model, dataset, device)
            logits, scores, _ = found if decision is None else found.decided(decision, selects(model))
            found = metrics(logits, labels_of(dataset, logits), class_sizes, scores if abstains else None)
            found = {METRIC_BY_AIM[aim]: found[METRIC_BY_AIM[aim]], **found}
            numbers |= {name + key: value for key, value in found.items()}
        return numbers

    return judged


def device_of(model: nn.Module) -> torch.device:
    return next((param.device for param in model.parameters()), torch.device("cpu"))


def metrics(logits: Tensor, labels: Tensor, class_sizes: Tensor, scores: Tensor | None = None) -> dict[str, float]:
    """``accuracy``; ``balanced_accuracy``, the mean over classes; ``log_loss``; and more.

    If the largest class of the training set has five times the samples of the smallest, also ``head_accuracy``,
    ``middle_accuracy`` and ``tail_accuracy``, the mean class accuracy of the largest third of the classes, of the
    middle and of the smallest third. Thirds, not fixed sizes (the usual 100 and 20 samples), so that it means something
    for small datasets too; and ``many_shot_accuracy``, ``medium_shot_accuracy`` and ``few_shot_accuracy``, that of
    classes with more than 100, 20 to 100, and fewer than 20 training samples, as for ImageNet-LT. A group without a
    class, or without a test sample, is left out. With more than ten classes also ``top5_accuracy``, the share of
    samples whose class is among the five likeliest.

    If scores are given, also ``error_at_70`` to ``error_at_100``, the share of wrong predictions among the given
    percentage of samples with the highest scores (selective risk), and ``risk_coverage_area``, the mean of this share
    over all coverages. The smaller, the better.

    Args:
        class_sizes: samples of each class in the training set, shape (num_classes,).
        scores: shape (n,), how sure each prediction is, for a model that abstains.
    """
    if len(labels) == 0:
        raise DataError("the set to judge on is empty; give it at least one sample")
    right = logits.argmax(1) == labels
    per_class = class_accuracy(logits, labels)
    numbers = {"accuracy": right.double().mean().item(), "balanced_accuracy": per_class.nanmean().item()}
    numbers["log_loss"] = F.cross_entropy(logits.double(), labels).item()
    if class_sizes.max() >= LONG_TAIL * class_sizes.min():
        ranked = per_class[class_sizes.argsort(descending=True, stable=True)]
        third = max(1, round(len(ranked) / 3))
        groups = {"head": ranked[:third], "middle": ranked[third:-third], "tail": ranked[-third:]}
        many, few = class_sizes > MANY_SHOT_SIZE, class_sizes < FEW_SHOT_SIZE
        groups |= {"many_shot": per_class[many], "medium_shot": per_class[~many & ~few], "few_shot": per_class[few]}
        numbers |= {f"{name}_accuracy": g.nanmean().item() for name, g in groups.items() if not g.isnan().all()}
    if logits.shape[1] > TOP5_FROM:
        numbers["top5_accuracy"] = (logits.topk(5).indices == labels[:, None]).any(1).double().mean().item()
    if scores is not None:
        curve = risk_coverage(scores, ~right)
        numbers |= {f"error_at_{level}": error_at(curve, level / 100) for level in LEVELS}
        numbers["risk_coverage_area"] = area(curve)
    return numbers


def class_accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """The accuracy within each class, shape (num_classes,); NaN for a class without samples."""
    num_classes = logits.shape[1]
    correct = labels[logits.argmax(dim=1) == labels]
    return torch.bincount(correct, minlength=num_classes) / torch.bincount(labels, minlength=num_classes).double()

"""Abstaining allowed: how often the model errs on the samples that it is surest of."""

from torch import Tensor

from reweigh.scenarios.accuracy import accuracy, class_accuracy
from reweigh.selective import LEVELS, area, error_at, risk_coverage, softmax_response


def selective(logits: Tensor, labels: Tensor, class_sizes: Tensor, scores: Tensor | None = None) -> dict[str, float]:
    """Judge by ``accuracy``, ``balanced_accuracy``, the error at coverages of 70 to 100 percent, and the area.

    ``error_at_80`` is the share of wrong predictions among the 80 percent of highest score (selective risk);
    ``risk_coverage_area`` the mean of this share over all coverages. The smaller, the better.

    Args:
        logits: shape (n, num_classes).
        labels: shape (n,).
        class_sizes: of the training set, shape (num_classes,); not used here.
        scores: shape (n,), how sure each prediction is; by default its probability.
    """
    numbers = {
        "accuracy": accuracy(logits, labels),
        "balanced_accuracy": class_accuracy(logits, labels).nanmean().item(),
    }
    curve = risk_coverage(softmax_response(logits) if scores is None else scores, logits.argmax(1) != labels)
    errors = {f"error_at_{level}": error_at(curve, level / 100) for level in LEVELS}
    return {**numbers, **errors, "risk_coverage_area": area(curve)}

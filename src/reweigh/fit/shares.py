"""Class shares: which ones the logits contain after training, and how to decide for those that will be met."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from reweigh.fit.calibration import EPS_SHARE, MIN_LABELS, calibrate, supposed_joint
from reweigh.fit.decision import Decision, Shares
from reweigh.losses import BALANCING
from reweigh.names import listed, plural
from reweigh.plan import Plan
from reweigh.plan.tables import method_named

NO_SAMPLES = 0.5  # samples that a class without any counts as, so that it can still be predicted
logger = logging.getLogger(__name__)


def before_training(plan: Plan, labels: Tensor, weights: Tensor | None, class_names: Sequence[str]) -> Decision:
    """The decision as far as it is known before training: the given labels count as right, nothing is calibrated.

    Args:
        plan: How to train.
        labels: Shape (N,), the given labels; -1 means no label.
        weights: Shape (N,), the user's own factor of each sample; None if there is none.
        class_names: Names of the classes.

    Raises:
        RecipeError: The class shares of the plan do not suit the classes.
    """
    given = shares_of(labels, weights, len(class_names))
    contained = (1 / len(given),) * len(given) if contains(plan) == "uniform" else given
    return Decision(contained, given, given).meeting(plan.train["class_shares"], class_names)


def after_training(
    first: Decision,
    plan: Plan,
    class_names: Sequence[str],
    weights: Tensor | None,
    labels: Tensor,
    apart: tuple[Tensor, Tensor] | None,
    joint: Tensor | None = None,
) -> tuple[Decision, Tensor | None]:
    """The decision with the class shares of the true labels, calibrated on held-out labels; and the confusion.

    The confusion T(y | k), shape (C, C), is the probability of the given class y (row) if k is the true one (column);
    None if no labels were held out.

    Args:
        first: See ``before_training``.
        weights: Shape (N,), factors by which the method trained on the samples; NaN means 1. None if it has none.
        labels: Shape (N,), the labels that these weigh.
        apart: Logits (n, C) and given labels (n,) of samples that were not trained on; None if there are none.
        joint: Shape (C, C), share of samples by given (row) and true (column) class, if the method knows.
    """
    if weights is not None and contains(plan) == "weighted":
        first = replace(first, contained=shares_of(labels, weights.nan_to_num(1.0), len(class_names)))
    shares = plan.train["class_shares"]
    if apart is None:
        if shares != "as-trained":
            logger.info("probabilities are not calibrated: no labels were held out (train.judge or train.abstain)")
        return first.meeting(shares, class_names), None
    logits, given = apart
    scores = first.scores(logits)
    found = calibrate(scores, given, supposed_joint(scores, given) if joint is None else joint)
    if found.labels == 0:
        known = int((given >= 0).sum())
        logger.info("probabilities are not calibrated: %s, fewer than %d", plural(known, "held-out label"), MIN_LABELS)
        return first.meeting(shares, class_names), None
    lacking = (torch.bincount(given[given >= 0], minlength=len(class_names)) == 0).nonzero().flatten().tolist()
    if lacking:
        logger.info("no held-out label of class %s; its bias is 0", listed(class_names[each] for each in lacking))
    sizes = found.joint.sum(1, keepdim=True)
    truly = torch.where(sizes > 0, found.joint / sizes.clamp_min(EPS_SHARE), torch.eye(len(sizes), dtype=sizes.dtype))
    decision = replace(
        first,
        estimated=tuple((torch.tensor(first.given, dtype=sizes.dtype) @ truly).tolist()),
        temperature=found.temperature,
        bias=tuple(found.bias.tolist()),
        calibrated=found.labels,
        wrong=float(1 - found.joint.trace()),
    )
    return decision.meeting(shares, class_names), found.joint / found.joint.sum(0).clamp_min(EPS_SHARE)


def contains(plan: Plan) -> str:
    """Which class shares the logits contain after training by a plan: "given", "weighted" or "uniform"."""
    balancing = (plan.own_loss or plan.loss.name) in BALANCING
    return "uniform" if plan.train["prior"] or balancing else method_named(plan.method.name).contains


def shares_of(labels: Tensor, weights: Tensor | None, classes: int) -> Shares:
    """Shares of the classes among the labels, shape (N,), where -1 means no label; a weight of 2 counts as two."""
    known = labels >= 0
    factors = torch.ones(len(labels)) if weights is None else weights.cpu()
    counts = torch.zeros(classes, dtype=torch.float64).index_add_(0, labels[known], factors[known].double())
    counts = counts.clamp_min(NO_SAMPLES * float(counts.sum() / known.sum().clamp_min(1)))
    return tuple((counts / counts.sum()).tolist())

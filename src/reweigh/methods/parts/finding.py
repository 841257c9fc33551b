"""How many labels are wrong, by several estimates, and one sentence about it."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.issues.stock import TINY, Stock, anchored_joint, wrong_in_joint

HARDLY = 0.01  # if the share may be as low as this, labels may all be right
ONE_WAY = 0.5  # share of the wrong labels that go one way between two classes, in excess of the way back
PAIRS = 3  # that the sentence names
BEYOND_CHANCE = 3.0  # standard deviations of a difference between two counts


class Count(NamedTuple):
    """Shares of wrong labels in each class by given label, shape (C,): an estimate and its limits."""

    share: Tensor
    low: Tensor
    high: Tensor

    def in_all(self, given: Tensor) -> tuple[float, float, float]:
        """Share, low and high of all samples together.

        Args:
            given: shape (N, C), the given labels as rows that sum to one.
        """
        share, low, high = (float(given.mean(0) @ each) for each in self)
        return share, low, high

    def after(self, uncorrected: Tensor, given: Tensor) -> "Count":
        """What is left of the wrong labels that were counted, once some of them are corrected.

        Args:
            uncorrected: shape (N, C), the labels that were counted.
            given: shape (N, C), the same, some of them corrected.
        """
        corrected = uncorrected[(uncorrected != given).any(1)].sum(0)
        left = ((each * uncorrected.sum(0) - corrected).clamp_min(0) for each in self)
        return Count(*(number / given.sum(0).clamp_min(TINY) for number in left))


def count_wrong(
    stock: Stock, unseen: Stock, predictions: Tensor, given: Tensor, known: Tensor, latest: Tensor
) -> Count:
    """Count wrong labels in three ways; the estimate is the one in the middle.

    The joint that was learned from predictions without the label finds too few if labels are wrong where a network is
    unsure; so do the labels of the surest of these predictions (``anchored_joint``), by less. The labels that the last
    network contradicts are too many, since its own errors are among them. The limits are the extremes of these and of
    the mean doubt.

    Args:
        stock: from predictions that have seen the labels.
        unseen: from ``predictions``.
        predictions: shape (n, C), made without the label, of the samples ``known``.
        given: shape (N, C), the given labels as rows that sum to one.
        known: indices of these samples.
        latest: shape (N, C), logits of the last network.
    """
    sizes = given.sum(0).clamp_min(TINY)
    sharpened = (predictions.clamp_min(TINY).log() / unseen.temperature).softmax(1)
    predicted = F.one_hot((latest + unseen.prior.clamp_min(TINY).log()).argmax(1), given.shape[1])
    estimates = [
        wrong_in_joint(unseen.joint),
        wrong_in_joint(anchored_joint(sharpened, given[known], unseen.prior)),
        1 - (given * predicted).sum(0) / sizes,
    ]
    estimates.sort(key=lambda shares: float(given.mean(0) @ shares))
    doubted = 1 - (given * stock.posterior).sum(0) / sizes
    low, high = torch.stack([*estimates[:2], doubted]).amin(0), torch.stack(estimates).amax(0)
    empty = given.sum(0) == 0
    return Count(*(shares.masked_fill(empty, 0.0).clamp(0, 1) for shares in (estimates[1], low, high)))


def sentence(
    count: Count, given: Tensor, joint: Tensor, names: Sequence[str], gain: tuple[float, float] | None, dropped: bool
) -> str:
    """What was found, what was done about it, and what the judge says that it gained.

    Args:
        given: shape (N, C), the given labels as rows that sum to one.
        joint: shape (C, C), number of samples by given (row) and true (column) class.
        names: of the classes.
        gain: what the second look gained in balanced accuracy on held-out labels, and its standard error; None if
            there is none.
        dropped: whether the second look was worse, and the first is kept.
    """
    share, low, high = count.in_all(given)
    limits = f"{low:.0%} to {high:.0%}"
    if low < HARDLY:
        found = f"Hardly any labels are wrong (about {share:.0%}, {limits})"
    else:
        found = f"About {share:.0%} of the labels are wrong ({limits}), {direction(joint, names)}"
    if gain is None:
        return f"{found}. Too few epochs or samples to learn again from what is likely right."
    points, error = (100 * number for number in gain)
    judged = f"{points:+.1f} ± {error:.1f} points of balanced accuracy on held-out given labels"
    if dropped:
        return f"{found}. Learning again from the corrected labels was worse ({judged}), so the first model is kept."
    return f"{found}. Learning again from what is likely right gained {judged}."


def direction(joint: Tensor, names: Sequence[str]) -> str:
    """Whether wrong labels go one way, and between which classes, by more than chance explains."""
    wrong = joint - joint.diag().diag()
    excess = (wrong - wrong.T).clamp_min(0)
    excess = excess.where(excess > BEYOND_CHANCE * (wrong + wrong.T).sqrt(), 0.0)
    if float(excess.sum()) < ONE_WAY * float(wrong.sum()) or len(names) < 2:
        return "in no particular direction"
    most = excess.flatten().topk(min(PAIRS, excess.numel()))
    pairs = [
        f"{names[place % len(names)]} given as {names[place // len(names)]}"
        for place, much in zip(most.indices.tolist(), most.values.tolist(), strict=True)
        if much > 0.05 * float(excess.sum())
    ]
    return f"mostly one way: {', '.join(pairs)}" if pairs else "mostly one way"

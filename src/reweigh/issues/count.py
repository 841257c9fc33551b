"""How many labels are wrong, by several estimates, and one sentence about it."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.issues.stock import (
    TINY,
    Stock,
    anchored_joint,
    confident_joint,
    take_stock,
    with_prior,
    wrong_in_joint,
)

OWN = 1.5  # wrong labels in total, for each one that is found by predictions that have seen the labels
FEW = 0.05  # shares below this are shown with a decimal
HARDLY = 0.01  # if the share may be as low as this, all labels may be right
WIDE = 1.7  # times the estimate: if the upper limit is higher, network and labels disagree often for other reasons, too
ONE_WAY = 0.5  # share of the wrong labels that go one way between two classes, beyond those that go back
PAIRS = 3  # pairs of classes that the sentence names
BEYOND_CHANCE = 3.0  # standard deviations beyond which a difference between two counts is not chance


class Count(NamedTuple):
    """Share of wrong labels in each given class, shape (C,): an estimate, and its lower and upper limit."""

    share: Tensor
    low: Tensor
    high: Tensor

    def in_all(self, given: Tensor) -> tuple[float, float, float]:
        """Share, low and high over all samples.

        Args:
            given: Shape (N, C), the given labels as rows that sum to one.
        """
        share, low, high = (float(given.mean(0) @ each) for each in self)
        return share, low, high

    def after(self, uncorrected: Tensor, given: Tensor) -> "Count":
        """The wrong labels that are left after some of them were corrected.

        Args:
            uncorrected: Shape (N, C), the labels that were counted.
            given: Shape (N, C), the same labels, some of them corrected.
        """
        corrected = uncorrected[(uncorrected != given).any(1)].sum(0)
        left = ((each * uncorrected.sum(0) - corrected).clamp_min(0) for each in self)
        return Count(*(number / given.sum(0).clamp_min(TINY) for number in left))


def count_wrong(
    stock: Stock, own: Tensor, prior: Tensor, given: Tensor, unseen: Tensor, known: Tensor, latest: Tensor, weak: bool
) -> Count:
    """Count wrong labels in several ways.

    Three counts are likely too high, and the lowest of them is used. Predictions made without the label (``unseen``)
    and labels that the last network contradicts (``latest``) mistake errors of the network for wrong labels.
    Predictions made with the label (``own``) miss labels that were memorized, so what they find is multiplied by OWN.

    One count is likely too low: the surest predictions alone (``anchored_joint``) find too few if samples that are hard
    for a network are also hard for the people who label. If this count is the higher one, that is chance.

    The estimate is the mean of both. If the network is weak or classes are rare, it makes many errors, and the
    estimate is the lower of the two. The limits are the extremes of all these counts and of the mean doubt.

    Args:
        stock: What is known about the labels.
        own: Shape (C, C), the confident joint of predictions made with the label.
        prior: Shape (C,), expected shares of the true classes; predictions are as if all were equally frequent.
        given: Shape (N, C), the given labels as rows that sum to one.
        unseen: Shape (n, C), predictions made without the label.
        known: Shape (n,), indices of the samples of these predictions.
        latest: Shape (N, C), logits of the last network.
        weak: Whether the network was still learning when most would begin to memorize, or classes are rare.
    """
    labels = given[known]
    without = take_stock(unseen, labels, confident_joint(with_prior(unseen, prior), labels))
    predicted = F.one_hot((latest + prior.clamp_min(TINY).log()).argmax(1), given.shape[1])
    doubted, contradicted = _missing(stock.posterior, given), _missing(predicted, given)
    held_out = (wrong_in_joint(without.joint) + _missing(without.posterior, labels)) / 2
    held_out = torch.where(labels.sum(0) > 0, held_out, doubted)
    sure = wrong_in_joint(anchored_joint(unseen, labels, prior))
    estimates = [held_out, contradicted, OWN * wrong_in_joint(own)]
    many = min(estimates, key=lambda shares: float(given.mean(0) @ shares))
    few = min(sure, many, key=lambda shares: float(given.mean(0) @ shares))
    share = few if weak else (few + many) / 2
    low = torch.stack([doubted, held_out, sure, share]).amin(0)
    high = torch.stack([wrong_in_joint(without.joint), contradicted, share]).amax(0)
    empty = given.sum(0) == 0
    return Count(*(shares.masked_fill(empty, 0.0).clamp(0, 1) for shares in (share, low, high)))


def _missing(found: Tensor, given: Tensor) -> Tensor:
    """Share of each given class, shape (C,), that is not found; both arguments are rows that sum to one."""
    return 1 - (given * found).sum(0) / given.sum(0).clamp_min(TINY)


def sentence(
    count: Count, given: Tensor, joint: Tensor, names: Sequence[str], gain: tuple[float, float] | None, dropped: bool
) -> str:
    """What was found, what was done about it, and how much the judge says was gained.

    Args:
        given: Shape (N, C), the given labels as rows that sum to one.
        joint: Shape (C, C), number of samples by given (row) and true (column) class.
        names: Class names.
        gain: Gain of the second look in balanced accuracy on held-out labels, and its standard error; None if there
            was no second look.
        dropped: Whether the second look was worse, so that the first is kept.
    """
    likely, lowest, highest = count.in_all(given)
    share, low, high = (f"{each:.1%}" if 0.0005 <= each < FEW else f"{each:.0%}" for each in (likely, lowest, highest))
    if lowest < HARDLY:
        found = f"Hardly any labels look wrong (about {share}, {low} to {high})"
    else:
        found = f"About {share} of the labels look wrong ({low} to {high}), {direction(joint, names)}"
        if highest > WIDE * likely:
            found += "; fewer if classes overlap"
    if gain is None:
        return f"{found}. Too few epochs or samples to train again on corrected labels."
    points, error = (100 * number for number in gain)
    again = "Training again" if lowest < HARDLY else "Training again on the corrected labels"
    changed = f"{again} changed balanced accuracy on held-out given labels by"
    kept = ", so the first model is kept" if dropped else ""
    return f"{found}. {changed} {points:+.1f} ± {error:.1f} points{kept}."


def direction(joint: Tensor, names: Sequence[str]) -> str:
    """Whether wrong labels go one way more often than chance explains, and between which classes."""
    wrong = joint - joint.diag().diag()
    excess = (wrong - wrong.T).clamp_min(0)
    excess = excess.where(excess > BEYOND_CHANCE * (wrong + wrong.T).sqrt(), 0.0)
    if float(excess.sum()) <= ONE_WAY * float(wrong.sum()) or len(names) < 2:
        return "in no particular direction"
    most = excess.flatten().topk(min(PAIRS, excess.numel()))
    pairs = [
        f"{names[place % len(names)]} given as {names[place // len(names)]}"
        for place, much in zip(most.indices.tolist(), most.values.tolist(), strict=True)
        if much > 0.05 * float(excess.sum())
    ]
    return f"mostly one way: {', '.join(pairs)}" if pairs else "mostly one way"

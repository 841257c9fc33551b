"""How many labels are wrong, by several estimates, and one sentence about it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.issues.remaining import Remaining
from reweigh.issues.stock import TINY, Stock, anchored_joint, confident_joint, take_stock, with_prior, wrong_in_joint
from reweigh.names import plural

OWN = 1.5  # wrong labels in total, for each one that is found by predictions that have seen the labels
HABIT = 0.59  # share of the wrong labels that a held-out model repeats if they depend on the input: texts, by people
MIN_AGREEMENT = 1 / 3  # of predictions and labels beyond chance (Cohen's kappa); a model below it cannot tell
MAX_CLAIM_WIDTH = 0.25  # between limits; if they are further apart, no estimate is claimed
LEVEL = 0.6  # conflicts of sure predictions for each one of less sure ones, at least, if labels are wrong at random
MIN_SURE_CONFLICTS = 0.5  # conflicts of sure predictions for each one of all, at least, if labels are wrong at random;
MIN_SURE_CONFLICTS_WEAK = 0.85  # of a weak model
CONSENSUS_RANGE = (0.5, 1.6)  # times the estimate from votes; measured on CIFAR-10N and simulated votes
Z90 = 1.645  # standard deviations on either side of a 90 % interval
BORROWED = 10.0  # samples that each class borrows from all others
FEW = 0.05  # shares below this are shown with a decimal
HARDLY = 0.05  # if the model disagrees with fewer labels than this, hardly any look wrong
ONE_WAY = 0.5  # share of the wrong labels that go one way between two classes, beyond those that go back
TWO_WAYS = 0.5  # share of the wrong labels between the pairs of classes that are named
PAIRS = 3  # pairs of classes that the sentence names
MIN_OF_FIRST = 0.5  # wrong labels between a pair of classes that is named, for each one between the first pair
NO_DIRECTION = "in no particular direction"
BEYOND_CHANCE = 3.0  # standard deviations beyond which a difference between two counts is not chance


class Count(NamedTuple):
    """Share of wrong labels in each given class, shape (C,): an estimate, and its lower and upper limit.

    Attributes:
        disagree: Share of the held-out labels that models which did not see them contradict.
        at_random: Whether the estimate can be relied on, if at all: sure and less sure predictions contradict about as
            many labels, as they do if which labels are wrong does not depend on the input. Otherwise one label per
            sample cannot tell wrong labels from overlapping classes, and the limits are wide.
        predicted: Shape (C, C), number of held-out labels by given (row) and predicted (column) class.
        contradicted: Number of labels that contradict most labels of samples with equal inputs.
        copied: Whether these samples are copies; see ``EqualInputs``.
    """

    share: Tensor
    low: Tensor
    high: Tensor
    disagree: float = 0.0
    at_random: bool = True
    predicted: Tensor = torch.zeros(0, 0)
    contradicted: int = 0
    copied: bool = False

    @property
    def hardly(self) -> bool:
        """Whether hardly any labels look wrong."""
        return self.disagree < HARDLY and not self.at_random

    def in_all(self, given: Tensor) -> tuple[float, float, float]:
        """Share, low and high over all samples.

        Args:
            given: Shape (N, C), the given labels as rows that sum to one.
        """
        share, low, high = (float(given.mean(0) @ each) for each in (self.share, self.low, self.high))
        return share, low, high

    def by_class(self, doubt: Tensor, given: Tensor) -> "Count":
        """The same count, its shares in each class being the mean doubt, so that they agree with the flags.

        Args:
            doubt: Shape (N,), one minus the quality of each label, with the share of wrong labels as its mean.
            given: Shape (N, C), the given labels as rows that sum to one.
        """
        share = (given * doubt[:, None]).sum(0) / given.sum(0).clamp_min(TINY)
        return self._replace(share=share, low=torch.minimum(self.low, share), high=torch.maximum(self.high, share))

    def after(self, left: Remaining, uncorrected: Tensor, given: Tensor) -> "Count":
        """The wrong labels that are left after some of them were corrected.

        Args:
            left: Number of wrong labels among those that nobody has decided about.
            uncorrected: Shape (N, C), the labels that were counted.
            given: Shape (N, C), the same labels, some of them corrected.
        """
        total, low, high = (each * len(given) for each in self.in_all(uncorrected))
        corrected = int((uncorrected != given).any(1).sum())
        low = min(max(low - corrected, 0.0), left.low) if self.at_random else 0.0
        high = left.high if self.at_random else max(high - corrected, left.high)
        scale = (uncorrected.sum(0) / given.sum(0).clamp_min(TINY)) / max(total, TINY)  # to numbers, and back to shares
        share, low, high = ((self.share * scale * each).clamp(0, 1) for each in (left.estimate, low, high))
        return self._replace(share=share, low=low, high=high)


class EqualInputs(NamedTuple):
    """Which samples have equal inputs.

    Attributes:
        groups: Shape (N,), the same number for equal inputs.
        copied: Whether they are copies of one sample, as equal photos are; equal rows may differ in class.
    """

    groups: Tensor
    copied: bool

    def contradicted(self, given: Tensor) -> tuple[int, int]:
        """Number of labels that contradict most labels of equal inputs, and of samples whose input is not the only one.

        >>> EqualInputs(torch.tensor([0, 0, 0, 1, 2]), True).contradicted(torch.eye(2)[[0, 0, 1, 1, 1]])
        (1, 3)

        Args:
            given: Shape (N, C), the given labels as rows that sum to one.
        """
        labels = given.argmax(1)
        pairs, counts = torch.stack([self.groups, labels]).unique(dim=1, return_counts=True)
        most = torch.zeros(int(self.groups.max()) + 1, dtype=counts.dtype).scatter_reduce_(0, pairs[0], counts, "amax")
        sizes = torch.bincount(self.groups)
        return int((sizes - most).sum()), int(sizes[sizes > 1].sum())


def count_wrong(
    stock: Stock,
    own: Tensor,
    prior: Tensor,
    given: Tensor,
    unseen: Tensor,
    known: Tensor,
    latest: Tensor,
    weak: bool,
    equal: EqualInputs | None = None,
) -> Count:
    """Count wrong labels in several ways.

    Three counts are likely too high, and the lowest of them is used. Predictions made without the label (``unseen``)
    and labels that the last network contradicts (``latest``) mistake errors of the network for wrong labels.
    Predictions made with the label (``own``) miss labels that were memorized, so what they find is multiplied by OWN.

    One count is likely too low: the surest predictions alone (``anchored_joint``) find too few if samples that are hard
    for a network are also hard for the people who label. If this count is the higher one, that is chance.

    The estimate is the mean of both. If the network is weak or classes are rare, it makes many errors, and the
    estimate is the lower of the two.

    The limits depend on whether the labels may be wrong at random (``_at_random``). If so, the surest predictions
    contradict as many labels as are wrong, and the share of all that are contradicted is the upper limit. If
    not, all conflicts may come from overlapping classes, so that the lower limit is 0; and since a model that was
    trained on wrong labels repeats a share of them, HABIT, the upper limit is higher than the share of labels it
    contradicts. This is also so if limits are too far apart, if the model is hardly better than chance, or if equal
    rows of a table contradict each other as often: then classes overlap. Of copies, all but those with the most
    frequent label are wrong.

    Args:
        stock: What is known about the labels.
        own: Shape (C, C), the confident joint of predictions made with the label.
        prior: Shape (C,), expected shares of the true classes; predictions are as if all were equally frequent.
        given: Shape (N, C), the given labels as rows that sum to one.
        unseen: Shape (n, C), predictions made without the label.
        known: Shape (n,), indices of the samples of these predictions.
        latest: Shape (N, C), logits of the last network.
        weak: Whether the network was still learning when most would begin to memorize, or classes are rare.
        equal: Samples with equal inputs; None if there are none.
    """
    labels = given[known]
    without = take_stock(unseen, labels, confident_joint(with_prior(unseen, prior), labels))
    predicted = F.one_hot((latest + prior.clamp_min(TINY).log()).argmax(1), given.shape[1])
    doubted, contradicted = _missing(stock.posterior, given), _missing(predicted, given)
    confident, mean_doubt = wrong_in_joint(without.joint), _missing(without.posterior, labels)
    held_out = torch.where(labels.sum(0) > 0, (confident + mean_doubt) / 2, doubted)
    sure = wrong_in_joint(anchored_joint(unseen, labels, prior))
    estimates = [held_out, contradicted, OWN * wrong_in_joint(own)]
    many = min(estimates, key=lambda shares: float(given.mean(0) @ shares))
    few = min(sure, many, key=lambda shares: float(given.mean(0) @ shares))
    share = few if weak else (few + many) / 2

    sizes, number = given.mean(0), max(len(known), 1)
    probability, likeliest = with_prior(unseen, prior).max(1)
    conflicts = 1 - labels.gather(1, likeliest[:, None]).squeeze(1)
    disagree = float(conflicts.mean()) if len(known) else 0.0
    in_classes = conflicts[_surest_of_each_class_first(probability, likeliest)]
    by_confidence = conflicts[probability.argsort(descending=True, stable=True)]
    at_random = _at_random(in_classes, MIN_SURE_CONFLICTS)
    if weak:
        at_random = all(_at_random(each, MIN_SURE_CONFLICTS_WEAK) for each in (in_classes, by_confidence))
    total = float(sizes @ share)
    contradicted, alike = (0, 0) if equal is None else equal.contradicted(given)
    low = high = 0.0
    if at_random:
        tenth, quarter, half = (in_classes[: max(1, number // parts)] for parts in (10, 4, 2))
        sure_enough = [(float(some.mean()), len(some)) for some in (tenth, quarter)]
        least = min((float(sizes @ sure), number), (total, number), *sure_enough)
        low = min(each - Z90 * (each * (1 - each) / n) ** 0.5 for each, n in (least, *sure_enough))
        most = max(float(sizes @ held_out), total, float(half.mean()))
        high = _above(max(most, disagree), number)
        overlap = 0.0 if equal is None or equal.copied else contradicted / max(alike, 1)
        overlap -= Z90 * (overlap * (1 - overlap) / max(alike, 1)) ** 0.5
        chance = float(labels.mean(0) @ F.one_hot(likeliest, given.shape[1]).to(labels).mean(0))
        at_random = high - low <= MAX_CLAIM_WIDTH and 1 - disagree / (1 - chance + TINY) >= MIN_AGREEMENT
        at_random = at_random and overlap <= max(low, 0.0)
    if not at_random:
        low, high = 0.0, _above(max(disagree / (1 - HABIT), total), number)
    if equal is not None and equal.copied:
        low, high = (max(limit, contradicted / len(given)) for limit in (low, high))
        share, total = share + max(low - total, 0.0), max(low, total)
    borrowed = BORROWED * max(disagree, 1 / number)
    conflicting = ((labels * conflicts[:, None]).sum(0) + borrowed) / (labels.sum(0) + BORROWED)
    limits = share * (max(low, 0.0) / max(total, TINY)), torch.maximum(_scaled(conflicting, sizes, high), share)
    empty = given.sum(0) == 0
    shares = (each.masked_fill(empty, 0.0).clamp(0, 1) for each in (share, *limits))
    predicted = labels.T @ F.one_hot(likeliest, given.shape[1]).to(labels)
    return Count(
        *shares,
        disagree=disagree,
        at_random=at_random,
        predicted=predicted,
        contradicted=contradicted,
        copied=equal is not None and equal.copied,
    )


def _above(share: float, number: int) -> float:
    """The upper limit of a share of so many samples."""
    share = min(share, 1.0)
    return min(share + Z90 * (max(share * (1 - share), 1 / number) / number) ** 0.5, 1.0)


def _scaled(shares: Tensor, sizes: Tensor, mean: float) -> Tensor:
    """Shares of classes, shape (C,), multiplied so that their mean by size is the given one; none is above 1."""
    scale = 0.0
    for _ in range(len(shares)):  # those that reach 1 leave more to the others
        full = shares * scale >= 1
        rest = float((sizes * shares)[~full].sum())
        if rest <= TINY:
            break
        scale = max(scale, (mean - float(sizes[full].sum())) / rest)
    return (shares * scale).clamp_max(1.0)


def count_consensus(posterior: Tensor, given: Tensor) -> Count:
    """Count wrong consensus labels of several labelers: how likely each of them is wrong, on average.

    The limits allow for labelers who make the same errors more often than was recognized (``CONSENSUS_RANGE``).

    Args:
        posterior: Shape (N, C), posterior of the true class from votes and predictions.
        given: Shape (N, C), the consensus labels as rows that sum to one.
    """
    number, share = len(given), _missing(posterior, given).masked_fill(given.sum(0) == 0, 0.0).clamp(0, 1)
    total = max(float(given.mean(0) @ share), 0.5 / number)
    chance = Z90 * (total * (1 - total) / number) ** 0.5
    low, high = (max(total * CONSENSUS_RANGE[0] - chance, 0.0), total * CONSENSUS_RANGE[1] + chance)
    return Count(share, share * low / total, (share * high / total).clamp_max(1.0), disagree=total)


def _at_random(conflicts: Tensor, least: float) -> bool:
    """Whether labels may be wrong at random: the surest predictions are contradicted about as often as less sure ones.

    The surest tenth and the surest quarter are compared with the second quarter. In the less sure half, the model makes
    errors of its own; if most conflicts are there, these hide how many labels are wrong.

    Args:
        conflicts: Shape (n,), whether the label contradicts the prediction, the surest prediction first.
        least: Share of conflicts in the surest quarter for each one in all, at least.
    """
    tenth, quarter, half = (max(1, len(conflicts) // parts) for parts in (10, 4, 2))
    second = float(conflicts[quarter:half].mean()) if half > quarter else 0.0
    if second == 0:
        return False
    surest, found, sure = float(conflicts[:tenth].mean()), float(conflicts[:tenth].sum()), conflicts[:quarter].mean()
    error = (1 / max(found, 1.0) + 1 / (second * (half - quarter))) ** 0.5
    level = surest * math.exp(error) >= LEVEL * second and float(sure) >= LEVEL * second
    return level and float(sure) >= least * float(conflicts.mean())


def _surest_of_each_class_first(probability: Tensor, likeliest: Tensor) -> Tensor:
    """Indices of samples, shape (n,): the surest of each predicted class, then the next; all classes in proportion."""
    order = probability.argsort(descending=True, stable=True)
    order = order[likeliest[order].argsort(stable=True)]
    sizes = torch.bincount(likeliest)
    sizes = sizes[sizes > 0]
    rank = torch.cat([(torch.arange(size) + 0.5) / size for size in sizes.tolist()])
    return order[rank.argsort(stable=True)]


def _missing(found: Tensor, given: Tensor) -> Tensor:
    """Share of each given class, shape (C,), that is not found; both arguments are rows that sum to one."""
    return 1 - (given * found).sum(0) / given.sum(0).clamp_min(TINY)


def claim(count: Count, given: Tensor, joint: Tensor, names: Sequence[str]) -> str:
    """How many labels are wrong, and what that rests on.

    Args:
        given: Shape (N, C), the given labels as rows that sum to one.
        joint: Shape (C, C), number of samples by given (row) and true (column) class.
        names: Class names.
    """
    share, low, high, disagree = (
        f"{each:.1%}" if 0.0005 <= each < FEW else f"{each:.0%}" for each in (*count.in_all(given), count.disagree)
    )
    equal = ""
    if count.contradicted:
        differ = f" {plural(count.contradicted, 'label contradicts', 'labels contradict')} most labels of"
        equal = f"{differ} samples with equal inputs: wrong, or the inputs do not determine the class."
        if count.copied:
            equal = f"{differ} copies of the same sample: wrong, unless a sample may have several classes."
    habit = f"if the model repeats at most {HABIT:.0%} of the wrong ones"
    if count.hardly:
        return f"Hardly any labels look wrong ({low} to {high}, {habit}).{equal}"
    if count.at_random:
        return (
            f"About {share} of the labels are wrong ({low} to {high}, if which ones does not depend on the input and "
            f"classes do not overlap), {direction(joint, names)}.{equal}"
        )
    where = direction(count.predicted, names)
    where = "" if where == NO_DIRECTION else f", {where}"
    return (
        f"The model disagrees with {disagree} of the held-out labels{where}.{equal} Between {low} and {high} of the "
        f"labels are wrong, {habit}; one label per sample cannot tell more. An audit of 100 labels can: reweigh audit "
        "RUN, or classifier.audit()."
    )


def claim_of_consensus(count: Count, given: Tensor, posterior: Tensor) -> str:
    """How many consensus labels are wrong, by votes alone and with the model, and what that rests on.

    Args:
        count: Count of wrong labels among ``given``, the consensus of votes alone.
        posterior: Shape (N, C), posterior of the true class from votes and model.
    """
    best = torch.zeros_like(posterior).scatter_(1, posterior.argmax(1, keepdim=True), 1.0)
    alone, both = (
        "{} ({} to {})".format(*(f"{each:.1%}" if each < FEW else f"{each:.0%}" for each in counted))
        for counted in (count.in_all(given), count_consensus(posterior, best).in_all(best))
    )
    return (
        f"About {both} of the consensus labels are wrong, and {alone} of those by votes alone; more if most labelers "
        "of a sample make the same error."
    )


def done(count: Count, gain: tuple[float, float] | None, dropped: bool) -> str:
    """What was done about wrong labels.

    A gain is not stated: the corrected labels come from models that saw the labels which are held out now, so even on
    random labels the second look seems to gain. A loss in spite of that is real.

    Args:
        gain: Of the second look, and its standard error; None if there was no second look.
        dropped: Whether the second look was worse.
    """
    if gain is None:
        return "Too few epochs or samples to train again on corrected labels."
    if dropped:
        points, error = (100 * abs(number) for number in gain)
        return (
            f"Training again lowered accuracy on held-out labels by {points:.1f} ± {error:.1f} points: it is not used."
        )
    return "The labels were used as they are." if count.hardly else "The model was trained again on corrected labels."


def direction(joint: Tensor, names: Sequence[str]) -> str:
    """Between which classes wrong labels go, with their numbers, if most go between few classes.

    >>> direction(torch.tensor([[80.0, 40, 0], [2, 60, 1], [0, 1, 90]]), ["cat", "dog", "owl"])
    'mostly dog given as cat (40)'

    Args:
        joint: Shape (C, C), number of samples by given (row) and true (column) class.
    """
    wrong, classes = joint - joint.diag().diag(), len(names)
    total = float(wrong.sum())
    excess = (wrong - wrong.T).clamp_min(0)
    excess = excess.where(excess > BEYOND_CHANCE * (wrong + wrong.T).sqrt(), 0.0)
    if classes > 1 and float(excess.sum()) > ONE_WAY * total:
        most = excess.flatten().topk(min(PAIRS, excess.numel()))
        pairs = [divmod(place, classes) for place in most.indices.tolist()]
        named = [
            f"{names[true]} given as {names[given]} ({float(wrong[given, true]):.0f})"
            for given, true in pairs
            if float(excess[given, true]) > 0.05 * float(excess.sum())
        ]
        return f"mostly {', '.join(named)}"
    both = (wrong + wrong.T).triu(1)
    most, number = both.flatten().topk(min(PAIRS, both.numel())), classes * (classes - 1) // 2
    for few in range(1, len(most.values) + 1):
        share = float(most.values[:few].sum()) / max(total, TINY)
        if share > max(TWO_WAYS, 2 * few / max(number, 1)) and float(most.values[few - 1]) > BEYOND_CHANCE**2:
            alike = int((most.values > max(MIN_OF_FIRST * float(most.values[0]), BEYOND_CHANCE**2)).sum())
            pairs = [divmod(place, classes) for place in most.indices[: max(few, alike)].tolist()]
            named = [f"{names[one]} and {names[other]} ({float(both[one, other]):.0f})" for one, other in pairs]
            return f"mostly between {', '.join(named)}"
    return NO_DIRECTION

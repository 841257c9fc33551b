"""How many labels are wrong, between which limits, and one sentence about it."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.issues.stock import TINY, with_prior
from reweigh.names import plural

HABIT = 0.59  # share of the wrong labels that a held-out model repeats if they depend on the input: texts, by people
MIN_AGREEMENT = 1 / 3  # of predictions and labels beyond chance (Cohen's kappa); a model below it cannot tell
MIN_SURE_CONFLICTS = 0.5  # conflicts of the surest predictions for each one of all; if fewer, most come with doubt
MAX_CLAIM_WIDTH = 0.25  # between limits; if they are further apart, no estimate is claimed
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
    """The share of wrong labels: an estimate, and its lower and upper limit.

    Attributes:
        disagree: Share of the held-out labels that models which did not see them contradict.
        at_random: Whether the estimate can be relied on, if at all: the surest predictions contradict about as many
            labels as the others, as they do if which labels are wrong does not depend on the input. Otherwise one label
            per sample cannot tell wrong labels from overlapping classes, and the limits are wide.
        predicted: Shape (C, C), number of held-out labels by given (row) and predicted (column) class.
        contradicted: Number of labels that contradict most labels of samples with equal inputs.
        copied: Whether these samples are copies; see ``EqualInputs``.
        alike: Whether all inputs are equal, so that nothing speaks against one label more than against another.
    """

    share: float
    low: float
    high: float
    disagree: float = 0.0
    at_random: bool = True
    predicted: Tensor = torch.zeros(0, 0)
    contradicted: int = 0
    copied: bool = False
    alike: bool = False

    @property
    def hardly(self) -> bool:
        """Whether hardly any labels look wrong."""
        return self.disagree < HARDLY and not self.at_random

    def by_class(self, doubt: Tensor, given: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The share of wrong labels in each given class and its limits, each of shape (C,); their means are the count.

        The share is the mean doubt, so that it agrees with the flags. For its upper limit, a class borrows from others.

        Args:
            doubt: Shape (N,), one minus the quality of each label, with the share of wrong labels as its mean.
            given: Shape (N, C), the given labels as rows that sum to one.
        """
        number = given.sum(0)
        total, mean = (given * doubt[:, None]).sum(0), float(doubt.mean())
        share = total / number.clamp_min(TINY)
        borrowed = ((total + BORROWED * mean) / (number + BORROWED)).masked_fill(number == 0, 0.0)
        high = torch.maximum(_scaled(borrowed, given.mean(0), self.high), share)
        return share, share * min(self.low / max(mean, TINY), 1.0), high

    def after(self, corrected: int, undecided: int, number: int) -> "Count":
        """The wrong labels that are left after a person decided about some: those counted before, less those corrected.

        >>> Count(0.2, 0.15, 0.3).after(corrected=30, undecided=120, number=200)[:3]
        (0.05, 0.0, 0.15)

        Args:
            corrected: Number of labels that the person found to be wrong.
            undecided: Number of labels that nobody has decided about.
            number: Number of all labels.
        """
        left = (min(max(each * number - corrected, 0.0), undecided) / number for each in self[:3])
        share, low, high = (round(each, 12) for each in left)
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


def count_wrong(given: Tensor, unseen: Tensor, index: Tensor, prior: Tensor, equal: EqualInputs | None = None) -> Count:
    """Count wrong labels by predictions of models that did not see them.

    Where such a model is sure, it is seldom wrong, and the labels that it contradicts are. If which labels are wrong
    does not depend on the input, they are as frequent there as anywhere. So the estimate is the share of labels that
    are contradicted by the surer half of the predictions, of every predicted class.

    Two things are not known: how far that share is off by chance (``_error``), and how many of these conflicts are
    errors of the model. These become more frequent as the model becomes less sure. So what conflicts rise by, from the
    surest quarter of the predictions to the second, may be all the model's, and the lower limit is what the surest
    quarter contradicts less that. Or it may be that labels are wrong more often where the model is less sure, and the
    upper limit is the estimate and that, but at most the share of all labels that are contradicted.

    These limits are given up for wide ones if most conflicts come with doubt, if the limits are too far apart, if the
    model is hardly better than chance, or if equal rows of a table contradict each other as often. Then classes may
    overlap, so that the lower limit is 0; and since a model that was trained on wrong labels repeats a share of them,
    HABIT, the upper limit is higher than the share of labels it contradicts. Of copies, all but those with the most
    frequent label are wrong.

    Args:
        given: Shape (N, C), the given labels as rows that sum to one, before any was corrected.
        unseen: Shape (n, C), predictions made without the label, as if all classes were equally frequent.
        index: Shape (n,), the samples of these predictions.
        prior: Shape (C,), expected shares of the true classes.
        equal: Samples with equal inputs; None if there are none.
    """
    labels, number = given[index], max(len(index), 1)
    probability, likeliest = with_prior(unseen, prior).max(1)
    conflicts = 1 - labels.gather(1, likeliest[:, None]).squeeze(1)
    disagree = float(conflicts.mean()) if len(index) else 0.0
    counted = conflicts[_surest_of_each_class_first(probability, likeliest)]
    quarter, half = max(number // 4, 1), max(number // 2, 1)
    surest, share = (float(counted[:some].mean()) if len(index) else 0.0 for some in (quarter, half))
    rise = max(2 * (share - surest), 0.0)
    least = min(surest, share)
    low = max(least - _error(least, quarter) - rise, 0.0)
    high = min(share + _error(share, half) + rise, max(disagree, share) + _error(disagree, number), 1.0)

    contradicted, alike = (0, 0) if equal is None else equal.contradicted(given)
    overlap = 0.0 if equal is None or equal.copied else contradicted / max(alike, 1)
    overlap -= _error(overlap, max(alike, 1))
    predicted = labels.T @ F.one_hot(likeliest, given.shape[1]).to(labels)
    chance = float(labels.mean(0) @ predicted.sum(0)) / number
    at_random = (
        surest >= MIN_SURE_CONFLICTS * disagree > 0
        and high - low <= MAX_CLAIM_WIDTH
        and 1 - disagree / (1 - chance + TINY) >= MIN_AGREEMENT
        and overlap <= low
    )
    if not at_random:
        low, high = 0.0, max(disagree / (1 - HABIT), share)
        high = min(high + _error(min(high, 1.0), number), 1.0)
    if copied := equal is not None and equal.copied:
        share, low, high = (max(each, contradicted / len(given)) for each in (share, low, high))
    alike = equal is not None and not copied and not bool(equal.groups.any())
    share = 0.0 if alike else share
    return Count(share, low, high, disagree, at_random, predicted, contradicted, copied, alike)


def _error(share: float, number: int) -> float:
    """How far a share of so many samples may be off by chance."""
    return Z90 * (max(share * (1 - share), 1 / number) / number) ** 0.5


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
    number = max(len(given), 1)
    share = max(float(1 - (given * posterior).sum(1).mean()), 0.5 / number)
    low, high = share * CONSENSUS_RANGE[0] - _error(share, number), share * CONSENSUS_RANGE[1] + _error(share, number)
    return Count(share, max(low, 0.0), min(high, 1.0), disagree=share)


def _surest_of_each_class_first(probability: Tensor, likeliest: Tensor) -> Tensor:
    """Indices of samples, shape (n,): the surest of each predicted class, then the next; all classes in proportion."""
    order = probability.argsort(descending=True, stable=True)
    order = order[likeliest[order].argsort(stable=True)]
    sizes = torch.bincount(likeliest)
    sizes = sizes[sizes > 0]
    rank = torch.cat([(torch.arange(size) + 0.5) / size for size in sizes.tolist()])
    return order[rank.argsort(stable=True)]


def claim(count: Count, between: str, names: Sequence[str]) -> str:
    """How many labels are wrong, and what that rests on.

    Args:
        between: Between which classes the labels go that look wrong, see ``direction``.
        names: Class names.
    """
    share, low, high, disagree = (
        f"{each:.1%}" if 0.0005 <= each < FEW else f"{each:.0%}" for each in (*count[:3], count.disagree)
    )
    equal = ""
    if count.contradicted:
        differ = f" {plural(count.contradicted, 'label contradicts', 'labels contradict')} most labels of"
        equal = f"{differ} samples with equal inputs: wrong, or the inputs do not determine the class."
        if count.copied:
            equal = f"{differ} copies of the same sample: wrong, unless a sample may have several classes."
    if count.alike:
        return "All inputs are equal, so nothing can be said about the labels."
    habit = f"if the model repeats at most {HABIT:.0%} of the wrong ones"
    if count.hardly:
        return f"Hardly any labels look wrong ({low} to {high}, {habit}).{equal}"
    if count.at_random:
        return (
            f"About {share} of the labels are wrong ({low} to {high}, if which ones does not depend on the input and "
            f"classes do not overlap), {between}.{equal}"
        )
    where = direction(count.predicted, names)
    where = "" if where == NO_DIRECTION else f", {where}"
    return (
        f"The model disagrees with {disagree} of the labels that it had not learned{where}.{equal} Between {low} and "
        f"{high} of the labels are wrong, {habit}; one label per sample cannot tell more. An audit of 100 labels can: "
        "reweigh audit RUN, or classifier.audit()."
    )


def claim_of_consensus(count: Count, posterior: Tensor) -> str:
    """How many consensus labels are wrong, by votes alone and with the model, and what that rests on.

    Args:
        count: Count of wrong labels among the consensus of votes alone.
        posterior: Shape (N, C), posterior of the true class from votes and model.
    """
    best = torch.zeros_like(posterior).scatter_(1, posterior.argmax(1, keepdim=True), 1.0)
    alone, both = (
        "{} ({} to {})".format(*(f"{each:.1%}" if each < FEW else f"{each:.0%}" for each in counted))
        for counted in (count[:3], count_consensus(posterior, best)[:3])
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


def suggestions(classes: int, *parts: tuple[Tensor, Tensor]) -> Tensor:
    """Number of labels by given (row) and suggested (column) class, shape (C, C).

    >>> suggestions(2, (torch.tensor([0, 0, -1]), torch.tensor([0, 1, 1])))
    tensor([[1., 1.],
            [0., 0.]])

    Args:
        parts: Given and suggested class of some samples, each of shape (n,); a given class of -1 means no label.
    """
    pairs = torch.cat([(classes * given + suggested)[given >= 0] for given, suggested in parts])
    return torch.bincount(pairs, minlength=classes**2).view(classes, classes).float()


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

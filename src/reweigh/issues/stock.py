"""What predictions say about given labels: which class is given for which, and the true class of each sample."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from reweigh.issues.labelers import Labelers

TEMPERATURES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5)
SURE = 0.8  # no bar is higher: if networks are sure nearly always, none of the few labels that they doubt would count
SUPPOSED = 4.0  # samples of each class that are added to a joint
ROUNDS = 5  # of learning which class is given for which from predictions made without the label,
MORE_SUPPOSED = 10.0  # and samples of each class that are added to the joint in each of them
RATIO = 6.0  # of the sizes of two classes; wrong labels hardly bring about more
CLEARLY = 5.0  # nats by which labels must be explained better
ANCHORS = 0.1  # share of the samples predicted as a class that stand for it,
FEW, FEWEST = 30, 10  # but not fewer samples than FEW, or half of them; and never fewer than FEWEST
TINY = 1e-6
CACHED = 300_000  # probabilities that are sharpened at a time: they stay in the processor's cache


class Stock(NamedTuple):
    """What is known about the labels.

    Attributes:
        posterior: Shape (N, C), probability of each true class, given the prediction and the label.
        joint: Shape (C, C), number of samples by given (row) and true (column) class.
        transition: Shape (C, C), T(y | k): probability of the given class y (row) if k is the true one (column).
        prior: Shape (C,), share of each true class.
        temperature: Temperature by which predictions were sharpened.
        labelers: What is known about each labeler, if there are several labels per sample.
    """

    posterior: Tensor
    joint: Tensor
    transition: Tensor
    prior: Tensor
    temperature: float
    labelers: "Labelers | None" = None


def label_rows(labels: Tensor, num_classes: int) -> Tensor:
    """Labels as rows of zeros and a 1, shape (N, num_classes); ``F.one_hot`` would take eight bytes for each number."""
    return torch.zeros(len(labels), num_classes).scatter_(1, labels[:, None], 1.0)


def take_stock(predictions: Tensor, given: Tensor, joint: Tensor | None = None) -> Stock:
    """The posterior of the true class of each sample, by Bayes' rule.

        posterior_i(k)  ~  q_i(k)^(1 / temperature)  prior(k)  T(y_i | k)

    The confusion T and the prior come from the joint. Predictions that were learned from wrong labels are not confident
    enough about the true class, so they are sharpened. The temperature is the one with which the predictions, passed
    through the confusion, explain the given labels best.

    Args:
        predictions: Shape (N, C), probabilities as if all classes were equally frequent. Formula: q.
        given: Shape (N, C), the given labels as rows that sum to one.
        joint: Shape (C, C), see ``Stock``; the confident joint by default.
    """
    if joint is None:
        joint = confident_joint(predictions, given)
    transition = joint / joint.sum(0).clamp_min(TINY)
    prior = joint.sum(0) / joint.sum().clamp_min(TINY)
    posterior, temperature = explain(predictions, given, transition, prior)
    return Stock(posterior, joint, transition, prior, temperature)


def take_stock_unseen(predictions: Tensor, given: Tensor) -> Stock:
    """``take_stock`` for predictions that were made without the label, from which the joint can be learned.

    The joint is learned if a class is rare (``expected_shares``). Otherwise the confident joint is better, because it
    finds more of the labels that are wrong because samples are hard.

    Args:
        predictions: Shape (n, C), probabilities as if all classes were equally frequent.
        given: Shape (n, C), rows that sum to one.
    """
    prior = expected_shares(predictions, given)
    return take_stock(predictions, given, None if is_even(prior) else learned_joint(predictions, given, prior))


def learned_joint(predictions: Tensor, given: Tensor, prior: Tensor) -> Tensor:
    """How many samples have each given (row) and each true (column) class: shape (C, C), by expectation maximization.

    It starts as ``anchored_joint`` and is counted again a few times with the posteriors that follow from it; each time,
    the temperature is chosen again too.

    Args:
        predictions: Shape (n, C), made without the label, as if all classes were equally frequent.
        given: Shape (n, C), rows that sum to one.
        prior: Shape (C,), expected shares of the classes.
    """
    joint = anchored_joint(predictions, given, prior)
    for _ in range(ROUNDS):
        stock = take_stock(predictions, given, _with_supposed(joint, MORE_SUPPOSED))
        joint = given.to_sparse().T @ stock.posterior
    return in_proportion(_with_supposed(joint, MORE_SUPPOSED), given.sum(0))


def expected_shares(predictions: Tensor, given: Tensor) -> Tensor:
    """Shares of the true classes, before it is known which labels are wrong, shape (C,).

    If one class is more than RATIO times as large as another, these are the shares of the given labels; otherwise
    errors in a frequent class would outnumber the samples of a rare one. Smaller differences may come from wrong labels
    that go one way, so the shares are equal. They are also equal if this explains the labels clearly better.

    Args:
        predictions: Shape (n, C), made without the label, as if all classes were equally frequent.
        given: Shape (n, C), rows that sum to one.
    """
    shares = given.mean(0)
    even = torch.full_like(shares, 1 / len(shares))
    if float(shares.max()) <= RATIO * float(shares[shares > 0].min()):
        return even

    def likelihood(prior: Tensor) -> float:
        stock = take_stock(predictions, given, learned_joint(predictions, given, prior))
        logs, evidence = predictions.clamp_min(TINY).log(), given.to_sparse() @ stock.transition
        return len(given) * float(_explained(logs, evidence, stock.prior, [stock.temperature]))

    return even if likelihood(even) > likelihood(shares) + CLEARLY else shares


def is_even(shares: Tensor) -> bool:
    """Whether all classes have the same share."""
    return bool((shares == shares[0]).all())


def explain(
    predictions: Tensor,
    given: Tensor,
    transition: Tensor,
    prior: Tensor,
    chosen: Tensor | slice = slice(None),
    temperatures: Sequence[float] = TEMPERATURES,
    least: float = TINY,
) -> tuple[Tensor, float]:
    """The posterior of ``take_stock`` for a known confusion and prior, and the temperature.

    Args:
        chosen: Samples whose labels are to be explained; all of them by default.
        temperatures: Those to choose from.
        least: Lowest probability that counts.
    """
    logs, evidence = predictions.clamp_min(least).log(), given.to_sparse() @ transition
    temperature = temperatures[int(_explained(logs[chosen], evidence[chosen], prior, temperatures).argmax())]
    rows = at_once(prior)
    for some, observed, labels in zip(logs.split(rows), evidence.split(rows), given.split(rows), strict=True):
        posterior = (some / temperature).softmax(1) * prior * observed
        total = posterior.sum(1, keepdim=True)
        some.copy_(torch.where(total > 0, posterior / total, labels))  # in place of the logarithms
    return logs, temperature


def _explained(logs: Tensor, evidence: Tensor, prior: Tensor, temperatures: Sequence[float]) -> Tensor:
    """Mean log-likelihood of given labels, if predictions are sharpened by each temperature, shape (temperatures,).

    Args:
        logs: Shape (n, C), logarithms of predictions.
        evidence: Shape (n, C), probability of the given label for each true class.
    """
    divisors = torch.tensor(temperatures, dtype=logs.dtype)[:, None, None]
    explained, rows = [], max(1, at_once(prior) // len(temperatures))
    for some, observed in zip(logs.split(rows), evidence.split(rows), strict=True):
        true = (some / divisors).softmax(2) * prior
        explained.append((true * observed).sum(2) / true.sum(2).clamp_min(TINY))
    return torch.cat(explained, 1).clamp_min(1e-9).log().mean(1)


def at_once(prior: Tensor) -> int:
    """Rows of probabilities that are sharpened at a time."""
    return max(1, CACHED // len(prior))


def confident_joint(predictions: Tensor, given: Tensor) -> Tensor:
    """How many samples have each given (row) and each true (column) class: shape (C, C) (Northcutt et al., 2021).

    A sample counts for the likeliest class among those whose probability reaches a bar: the mean probability of the
    class over samples with that label, at most SURE. The bar is relative to the class, so that rare classes and classes
    that receive wrong labels are not mistaken for noise. A sample below every bar is not counted, and rows are scaled
    to the size of their class. SUPPOSED samples are added to each class, with the average share of wrong labels in no
    particular direction, because a confusion that does not occur among few samples is still possible.

    Args:
        predictions: Shape (n, C).
        given: Shape (n, C), rows that sum to one.
    """
    sizes = given.sum(0)
    bar = ((given * predictions).sum(0) / sizes.clamp_min(TINY)).clamp_max(SURE)
    above = predictions >= bar
    counted = above.any(1)
    likeliest = predictions.where(above, -1.0).argmax(1)[counted]
    classes = len(sizes)
    by_true = torch.zeros(classes, classes, dtype=predictions.dtype).index_add_(0, likeliest, given[counted])
    return in_proportion(_with_supposed(by_true.T, SUPPOSED), sizes)


def _with_supposed(joint: Tensor, number: float) -> Tensor:
    """The joint with ``number`` more samples of each class, of which the average share is wrong."""
    wrong = 1 - float((joint.trace() + 1) / (joint.sum() + 1))
    return joint + number * torch.full_like(joint, wrong / max(1, len(joint) - 1)).fill_diagonal_(1 - wrong)


def credibility(predictions: Tensor, given: Tensor, stock: Stock) -> Tensor:
    """The posterior by which labels are ranked, shape (N, C).

    Classes that overlap look like labels that are wrong in one direction, which makes labels that are wrong in another
    one credible. So half of the wrong labels of each true class are spread evenly here. And predictions are sharpened
    only if a class is rare, which would never be predicted otherwise.

    >>> joint = torch.tensor([[60.0, 20.0, 0.0], [20.0, 60.0, 0.0], [0.0, 0.0, 80.0]])  # classes 0 and 1 overlap
    >>> predictions, given = torch.tensor([[0.9, 0.05, 0.05]]), torch.tensor([[0.0, 0.0, 1.0]])
    >>> stock = take_stock(predictions, given, joint)  # no 0 was ever labeled 2
    >>> [round(float(each[0, 2]), 2) for each in (stock.posterior, credibility(predictions, given, stock))]
    [1.0, 0.46]

    Args:
        predictions: Shape (N, C), probabilities as if all classes were equally frequent.
        given: Shape (N, C), the given labels as rows that sum to one.
    """
    rare = float(stock.prior.max()) > RATIO * float(stock.prior.min())
    sharpened = (predictions.clamp_min(TINY).log() / (stock.temperature if rare else 1.0)).softmax(1)
    right = stock.transition.diagonal()
    evenly = ((1 - right) / max(1, len(right) - 1)).repeat(len(right), 1)
    evenly.diagonal().copy_(right)
    return with_prior(sharpened * (given.to_sparse() @ (stock.transition + evenly)), stock.prior)


def with_prior(predictions: Tensor, prior: Tensor) -> Tensor:
    """Predictions made as if all classes were equally frequent, shape (n, C), changed to class shares, shape (C,)."""
    products = predictions * prior
    return products / products.sum(1, keepdim=True).clamp_min(TINY)


def in_proportion(joint: Tensor, sizes: Tensor) -> Tensor:
    """The joint, scaled so that rows sum to the sizes of the given classes, shape (C,)."""
    return joint / joint.sum(1, keepdim=True).clamp_min(TINY) * sizes[:, None]


def anchored_joint(predictions: Tensor, given: Tensor, prior: Tensor) -> Tensor:
    """How many samples have each given (row) and each true (column) class, as the surest predictions see it: (C, C).

    The tenth of the samples predicted as a class that are likeliest to belong to it are its anchors. They are assumed
    to belong to the class, and their given labels to represent those of all its samples, as in Patrini et al., Loss
    Correction (CVPR 2017).

    Args:
        predictions: Shape (n, C), made without the label, as if all classes were equally frequent.
        given: Shape (n, C), rows that sum to one.
        prior: Shape (C,), shares of the classes.
    """
    predictions = with_prior(predictions, prior)
    counts = torch.bincount(predictions.argmax(1), minlength=predictions.shape[1])
    numbers = torch.maximum(counts * ANCHORS, (counts / 2).clamp_max(FEW)).long()
    numbers = numbers.clamp(min(FEWEST, len(predictions)), len(predictions))
    surest = [own.topk(number).indices for own, number in zip(predictions.T, numbers.tolist(), strict=True)]
    return torch.stack([given[some].mean(0) * count for some, count in zip(surest, counts, strict=True)], 1)

"""How given labels are confused, read off held-out predictions, and what that says of each label."""

import torch
from torch import Tensor

ONE_WAY = 4.0  # of chi-squared with one degree of freedom; chance alone exceeds it in one pair of twenty
STEPS = 10


def transition(predictions: Tensor, given: Tensor) -> Tensor:
    """How often a sample of one class is given each label, shape (C, C); row: true class, column: given label.

    A sample counts as of the class that is predicted for it with more than the usual confidence, the mean over the
    samples that are given this label (Northcutt, Jiang, Chuang: Confident Learning, JAIR 2021). What goes both ways
    between two classes at one rate may be doubts of the models as well as wrong labels: it says how many labels are
    wrong, but not which, and is spread evenly. What goes one way beyond chance stays.

    Args:
        predictions: shape (N, C), by models that have not seen the sample; rows sum to one.
        given: shape (N,), the given labels.
    """
    classes = predictions.shape[1]
    sizes = torch.bincount(given, minlength=classes)
    own = predictions.gather(1, given[:, None]).squeeze(1)
    usual = torch.zeros(classes, dtype=predictions.dtype).index_add(0, given, own) / sizes  # NaN: never confident
    confident = predictions.where(predictions >= usual, -1.0)
    sure = (confident >= 0).any(1)
    counts = torch.zeros(classes, classes, dtype=predictions.dtype)
    counts.index_put_((confident.argmax(1)[sure], given[sure]), predictions.new_ones(()), accumulate=True)
    empty = counts.sum(0) == 0
    counts[empty, empty] = 1
    counts = counts / counts.sum(0) * sizes.clamp_min(1)
    apart = ~torch.eye(classes, dtype=torch.bool)
    size = counts.sum(1, keepdim=True).clamp_min(1)  # of each class by what it seems to be
    share = size / (size + size.T)  # of what goes between two classes, if it goes both ways at one rate
    exchanged = counts + counts.T
    chance = (exchanged * share * share.T).clamp_min(1e-12)  # the variance of a count
    chi_squared = (counts - exchanged * share).square() / chance
    excess = (counts - counts.T * size / size.T).clamp_min(0)
    one_way = excess * (1 - ONE_WAY / chi_squared.clamp_min(1e-12)).clamp_min(0)
    both_ways = (counts - one_way)[apart].sum() / (size.sum() * max(classes - 1, 1))
    found = (one_way / size + both_ways).where(apart, 0.0)
    kept = (1 - found.sum(1)).clamp_min(1 / classes)  # no worse than a guess
    found = found + kept.diag()
    return found / found.sum(1, keepdim=True)


def undone(predictions: Tensor, confusion: Tensor) -> Tensor:
    """What would be predicted if labels had never been confused, shape (N, C): q, with q @ confusion = predictions.

    There need not be such a q without negative numbers; expectation-maximization comes as near as it can.
    """
    found = predictions
    for _ in range(STEPS):
        found = found * ((predictions / (found @ confusion).clamp_min(1e-12)) @ confusion.T)
        found = found / found.sum(1, keepdim=True)
    return found


def posterior(true: Tensor, given: Tensor, confusion: Tensor) -> Tensor:
    """The probability of each true class once the given label is known too, shape (N, C), by Bayes' rule.

    Args:
        true: shape (N, C), the probabilities without it, as ``undone`` gives them.
        given: shape (N,).
        confusion: see ``transition``.
    """
    joint = true * confusion[:, given].T
    return joint / joint.sum(1, keepdim=True).clamp_min(1e-12)

"""Several kinds of looks as one: how much each of them counts, and what they say together."""

from collections.abc import Sequence

import torch
from torch import Tensor

from reweigh.issues.stock import TINY
from reweigh.looks.look import Look

EVEN_VOTES = 4.0  # samples that speak for each kind from the start, so that few samples leave none behind
ROUNDS = 100
NEARLY_NONE = 0.1  # a smaller share counts as none


def shares_of(kinds: Sequence[Tensor], likely: Tensor, most: Sequence[float]) -> list[float]:
    """The shares of a mixture that explains given labels best, by expectation maximization.

        maximize  sum_i log sum_m s_m sum_k T(y_i | k) p_m,i(k)  +  votes sum_m log s_m

    The labels may be wrong; seen through the confusion, they are explained best by who knows the true classes.

    >>> sure, unsure = torch.tensor([[0.9, 0.1]] * 50), torch.tensor([[0.5, 0.5]] * 50)
    >>> right = torch.tensor([[1.0, 0.0]] * 50)
    >>> [round(each, 2) for each in shares_of([unsure, sure], right, (1, 1))]
    [0.14, 0.86]

    Args:
        kinds: Probabilities of samples that the models did not see, each of shape (n, C).
        likely: Shape (n, C), probability of the given label of each sample for each true class.
        most: Share of each kind, at most; the others take the rest in proportion.
    """
    explained = torch.stack([(each * likely).sum(1) for each in kinds]).double().clamp_min(TINY)
    shares = torch.full((len(kinds), 1), 1 / len(kinds), dtype=torch.float64)
    for _ in range(ROUNDS):
        counts = (shares * explained / (shares * explained).sum(0)).sum(1, keepdim=True) + EVEN_VOTES
        shares = counts / counts.sum()
    shares, limits = shares.flatten(), torch.tensor(most, dtype=torch.float64)
    rest = shares.masked_fill(shares > limits, 0)
    shares = torch.where(shares > limits, limits, rest / rest.sum() * (1 - limits[shares > limits].sum()))
    shares = shares.masked_fill(shares < NEARLY_NONE, 0)
    return (shares / shares.sum()).tolist()


def pooled(looks: Sequence[Look], shares: Sequence[float], counts: Sequence[float] | None = None) -> Look:
    """What all say: evidence of all samples is added up, predictions for held-out samples are mixed.

    Args:
        looks: The history and the held-out samples of the first count; the others have at least these held out.
        counts: Shares in the model and in predictions for held-out samples, if others.
    """
    one, parts = looks[0], shares if counts is None else counts
    by, logs = torch.tensor(shares)[:, None, None], torch.tensor(parts).clamp_min(TINY).log()[:, None, None]
    unseen = torch.stack([look.unseen_at(one.held_out) for look in looks]) + logs
    return one._replace(
        models=[model for look in looks for model in look.models],
        shares=tuple(part / len(look.models) for look, part in zip(looks, parts, strict=True) for _ in look.models),
        best=(by * torch.stack([look.best for look in looks])).sum(0).log_softmax(1),
        consensus=(by * torch.stack([look.consensus for look in looks])).sum(0).log_softmax(1),
        unseen=unseen.logsumexp(0).log_softmax(1),
    )

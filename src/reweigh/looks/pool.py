"""Two kinds of looks as one: how much each of them counts, and what they say together."""

import torch
from torch import Tensor

from reweigh.issues.stock import TINY
from reweigh.looks.look import Look

SHARES = torch.linspace(0, 1, 41, dtype=torch.float64)
EVEN_VOTES = 4.0  # how much evidence, in log-likelihood, it takes to leave one half far behind
NEARLY_ALL = 0.9  # a share beyond this counts as all


def share_of(other: Tensor, one: Tensor, likely: Tensor) -> float:
    """The share of ``other`` in the mixture that explains given labels best.

        maximize  sum_i log sum_k T(y_i | k) ((1 - s) one_i(k) + s other_i(k))  +  votes log(4 s (1 - s))

    The labels may be wrong; seen through the confusion, they are explained best by who knows the true classes.

    >>> sure, unsure = torch.tensor([[0.9, 0.1]] * 50), torch.tensor([[0.5, 0.5]] * 50)
    >>> right = torch.tensor([[1.0, 0.0]] * 50)
    >>> share_of(sure, unsure, right), share_of(unsure, unsure, right)
    (0.85, 0.5)

    Args:
        other: Shape (n, C), probabilities of samples that the models did not see.
        one: Shape (n, C), likewise.
        likely: Shape (n, C), probability of the given label of each sample for each true class.
    """
    by_one, by_other = ((each * likely).sum(1).double() for each in (one, other))
    mixed = (1 - SHARES[:, None]) * by_one + SHARES[:, None] * by_other
    even = EVEN_VOTES * (4 * SHARES * (1 - SHARES)).clamp_min(TINY).log().clamp_min(-4)
    best = float(SHARES[(mixed.clamp_min(TINY).log().sum(1) + even).argmax()])
    return 1.0 if best > NEARLY_ALL else 0.0 if best < 1 - NEARLY_ALL else best


def pooled(one: Look, other: Look, share: float, counts: float | None = None) -> Look:
    """What both say: evidence of all samples is added up, predictions for held-out samples are mixed.

    Args:
        one: The look whose history and held-out samples count; ``other`` has at least these held out.
        share: Share of ``other``.
        counts: Its share in the model and in predictions for held-out samples, if another one.
    """
    part = share if counts is None else counts

    def logs(a: Tensor, b: Tensor) -> Tensor:
        return ((1 - share) * a + share * b).log_softmax(1)

    shares = torch.tensor([1 - part, part]).clamp_min(TINY).log()
    unseen = torch.stack([one.unseen, other.unseen_at(one.held_out)]) + shares[:, None, None]
    return one._replace(
        models=[*one.models, *other.models],
        shares=(*_parts(1 - part, one), *_parts(part, other)),
        best=logs(one.best, other.best),
        consensus=logs(one.consensus, other.consensus),
        unseen=unseen.logsumexp(0).log_softmax(1),
    )


def _parts(share: float, look: Look) -> list[float]:
    return [share / len(look.models)] * len(look.models)

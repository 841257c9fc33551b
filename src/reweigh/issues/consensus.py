"""What several labelers come to, as tables: the consensus, the labelers, each vote, and what to ask next."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from reweigh.errors import DataError
from reweigh.issues.count import Z90
from reweigh.issues.labelers import Labelers
from reweigh.issues.rules import with_few_classes
from reweigh.issues.stock import TINY
from reweigh.issues.votes import Votes
from reweigh.names import listed

if TYPE_CHECKING:
    import pandas as pd

SYSTEMATIC_ERROR = 0.025  # standard deviation of an estimated accuracy because the posterior is not exact; measured
SYSTEMATIC_ERROR_OF_RULES = 0.12  # that of rules, confirmed by a model that reads the same words; by nine rules
MIN_MISTAKEN = 0.05  # share of a true class that must be mistaken for another to be named
MAX_ASKED_LABELERS = 20  # the most accurate for their cost, among whom the next labeler is chosen
CHUNK_VALUES = 5_000_000  # probabilities at a time


def consensus_table(votes: Votes, posterior: Tensor) -> "pd.DataFrame":
    """One row per sample: label, its probability, the number of votes, and how many of them agree.

    Args:
        votes: The votes.
        posterior: Shape (N, C), posterior of the true class.
    """
    import pandas as pd

    best = posterior.max(1)
    agree = torch.bincount(votes.sample[votes.label == best.indices[votes.sample]], minlength=votes.samples)
    return pd.DataFrame(
        {
            "label": votes.classes[best.indices.numpy()],
            "probability": best.values.numpy(),
            "votes": votes.counts.numpy(),
            "agree": agree.numpy(),
        }
    )


def labeler_table(votes: Votes, found: Labelers) -> "pd.DataFrame":
    """One row per labeler, in the order of their names in ``votes``.

    Columns: ``votes``, their number; ``accuracy``, the estimated share of these votes that are right, with ``low`` and
    ``high``, its 90 % limits; ``agreement`` with the consensus; ``trust``, the probability that the next vote is right,
    shrunken toward that of all labelers; ``mistakes``, the class it mistakes most for another; ``repeats``, the labeler
    whom it repeats or who repeats it.
    """
    import pandas as pd

    people = len(votes.labelers)
    number = torch.bincount(votes.labeler, minlength=people).double()
    right = found.posterior[votes.sample, votes.label].double()

    def summed(values: Tensor) -> Tensor:
        return torch.zeros(people, dtype=torch.float64).index_add_(0, votes.labeler, values.double())

    accuracy = summed(right) / number  # NaN without votes
    chance = (summed(right * (1 - right)) + 0.25).sqrt() / number  # a quarter of a vote: no certainty from few votes
    systematic = torch.full_like(accuracy, SYSTEMATIC_ERROR)
    systematic[with_few_classes(votes)] = SYSTEMATIC_ERROR_OF_RULES
    margin = Z90 * (chance**2 + systematic**2).sqrt()
    agreement = summed(found.posterior.argmax(1)[votes.sample] == votes.label) / number
    return pd.DataFrame(
        {
            "votes": number.long().numpy(),
            "accuracy": accuracy.numpy(),
            "low": (accuracy - margin).clamp(0, 1).numpy(),
            "high": (accuracy + margin).clamp(0, 1).numpy(),
            "agreement": agreement.numpy(),
            "trust": found.accuracy.double().numpy(),
            "mistakes": [_mistakes(votes, found, each) for each in range(people)],
            "repeats": [_repeats(votes, found, each) for each in range(people)],
        },
        index=pd.Index(votes.labelers, name="labeler"),
    )


def _mistakes(votes: Votes, found: Labelers, labeler: int) -> str:
    if found.confusion is None or found.totals is None:
        return ""
    wrong = found.confusion[labeler].clone().fill_diagonal_(0.0)
    said, true = divmod(int(wrong.argmax()), len(wrong))
    share = float(wrong[said, true])
    return f"{votes.classes[true]} as {votes.classes[said]} ({share:.0%})" if share >= MIN_MISTAKEN else ""


def _repeats(votes: Votes, found: Labelers, labeler: int) -> str:
    others = found.dependence[labeler] if len(found.dependence) else found.dependence
    return votes.labelers[int(others.argmax())] if len(others) and float(others.max()) > 0 else ""


def vote_table(votes: Votes, found: Labelers) -> "pd.DataFrame":
    """One row per vote, the least credible first: sample, labeler, label, suggested_label and quality."""
    import pandas as pd

    table = pd.DataFrame(
        {
            "sample": votes.sample.numpy(),
            "labeler": np.asarray(votes.labelers, dtype=object)[votes.labeler.numpy()],
            "label": votes.classes[votes.label.numpy()],
            "suggested_label": votes.classes[found.posterior.argmax(1).numpy()][votes.sample.numpy()],
            "quality": found.posterior[votes.sample, votes.label].numpy(),
        }
    )
    return table.sort_values("quality", kind="stable", ignore_index=True)


def next_votes(
    votes: Votes, found: Labelers, posterior: Tensor, number: int, cost: Mapping[str, float] | None = None
) -> "pd.DataFrame":
    """The samples that need another label, and from whom: those whose consensus gains most for the cost.

        gain(i, m)  =  E_y [ max_k posterior_i(k | m says y) ]  -  max_k posterior_i(k)

    If no single vote can change the consensus, the expected loss of entropy decides.

    Args:
        votes: The votes so far.
        found: What is known about labelers.
        posterior: Shape (N, C), of all samples, with or without votes.
        number: How many samples to return.
        cost: Cost of a vote of each labeler; those who cannot be asked are left out. None asks all at the same cost.

    Returns:
        Columns ``sample``, ``labeler`` and ``gain``, the best first; at most one row per sample.

    Raises:
        DataError: The number or a cost is not positive, or there is no such labeler.
    """
    import pandas as pd

    if number < 1:
        raise DataError(f"next_labels: n is {number}; ask for at least one")
    prices = dict.fromkeys(votes.labelers, 1.0) if cost is None else dict(cost)
    if strange := [name for name in prices if name not in votes.labelers]:
        raise DataError(f"cost: no labeler {listed(map(repr, strange))}; there are: {listed(votes.labelers)}")
    if bad := [name for name, price in prices.items() if not price > 0]:
        raise DataError(f"cost: that of {listed(map(repr, bad))} is not above 0")
    numbers = {name: place for place, name in enumerate(votes.labelers)}
    worth = sorted(prices, key=lambda name: (0.5 - float(found.accuracy[numbers[name]])) / prices[name])
    asked = [numbers[name] for name in worth[:MAX_ASKED_LABELERS]]
    voted = torch.zeros(votes.samples, len(votes.labelers) if len(votes.labelers) < 1000 else 0, dtype=torch.bool)
    if voted.shape[1]:
        voted[votes.sample, votes.labeler] = True
    gains = torch.full((votes.samples, len(asked)), -torch.inf)
    classes = posterior.shape[1]
    for place, who in enumerate(asked):
        confusion = found.said_by(who)
        for some in torch.arange(votes.samples).split(max(1, CHUNK_VALUES // classes**2)):
            now = posterior[some]
            joint = now[:, None, :] * confusion  # (n, said, true)
            gain = joint.amax(2).sum(1) - now.amax(1)
            seen = joint.sum(2)
            after = -(joint * (joint / seen[:, :, None].clamp_min(TINY)).clamp_min(TINY).log()).sum((1, 2))
            before = -(now * now.clamp_min(TINY).log()).sum(1)
            gains[some, place] = (gain + 1e-3 * (before - after)) / prices[votes.labelers[who]]
        if voted.shape[1]:
            gains[voted[:, who], place] = -torch.inf
    best = gains.max(1)
    order = best.values.argsort(descending=True, stable=True)[:number]
    order = order[best.values[order].isfinite()]
    names: Any = [votes.labelers[asked[place]] for place in best.indices[order].tolist()]
    return pd.DataFrame({"sample": order.numpy(), "labeler": names, "gain": best.values[order].numpy()})

"""Rules: labelers who vote only if they find something, and always say the same."""

import torch
from torch import Tensor

from reweigh.issues.votes import Votes

RULE_VOTES = 100.0  # votes of each class that a rule is given: few overlaps of rules explain any classes (simulated),
MIN_RULE_ACCURACY = 0.85  # their accuracy,
MIN_MISSED_VOTES = 5.0  # and votes for a class by chance, of which it has none


def with_few_classes(votes: Votes) -> Tensor:
    """Labelers who never say some class that they would have to say: rules that fire for a class, shape (n,)."""
    people, classes = len(votes.labelers), len(votes.classes)
    said = torch.bincount(votes.labeler * classes + votes.label, minlength=people * classes).view(people, classes)
    by_chance = said.sum(1, keepdim=True) * said.sum(0) / len(votes)
    return ((said == 0) & (by_chance >= MIN_MISSED_VOTES)).any(1).nonzero().flatten()


def counts_of_rules(counts: Tensor, accuracy: Tensor, prior: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers and totals of a confusion for labelers whose silence depends on the class.

    A rule that says one class always says it when it fires, whatever the true class. What tells is how often it fires
    for each class, so that votes are divided by the size of the class in place of the number of votes for it. It is
    never taken to speak against the class that it says: nobody writes such a rule.

    Args:
        counts: Shape (n, C, C), number of votes by class (row) and true class (column).
        accuracy: Shape (n,).
        prior: Shape (C,), share of each true class.
    """
    classes = len(prior)
    right = accuracy.clamp_min(MIN_RULE_ACCURACY)[:, None, None]
    one = torch.eye(classes)
    added = counts + RULE_VOTES * (counts.sum(2, keepdim=True) > 0) * (
        right * one + (1 - right) / max(1, classes - 1) * (1 - one)
    )
    fires = added.diagonal(dim1=1, dim2=2) / prior
    added = torch.minimum(added, fires[:, :, None] * prior)
    totals = added.sum((1, 2))[:, None] * prior
    return added, totals * (added / totals[:, None]).amax((1, 2)).clamp_min(1.0)[:, None]

"""Which labelers repeat each other, so that their votes count once."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reweigh.issues.stock import TINY
from reweigh.issues.votes import Votes

if TYPE_CHECKING:
    from reweigh.issues.labelers import Labelers

MAX_PAIRED_LABELERS = 60  # the busiest ones, whose pairs are compared
MIN_SHARED_SAMPLES, MAX_SHARED_SAMPLES = 20, 2000  # of two labelers who are compared
BEYOND_CHANCE = 3.0  # standard errors beyond which two labelers are dependent,
MIN_DEPENDENCE = 0.4  # and the least dependence that counts


def dependent(votes: Votes, found: "Labelers") -> Tensor:
    """How far labelers repeat each other, shape (M, M): from 0, not at all, to 1, always.

        dependence  =  (agreement - expected agreement) / (1 - expected agreement)

    where agreement of independent labelers is expected from their confusions and the posterior without their votes.
    Only the busiest labelers are compared, and only those who share enough samples.
    """
    people = len(votes.labelers)
    dependence = torch.zeros(people, people)
    if found.confusion is None or people < 2:
        return dependence
    number = torch.bincount(votes.labeler, minlength=people)
    busiest = number.argsort(descending=True, stable=True)[:MAX_PAIRED_LABELERS]
    table = label_table(votes, busiest)
    logs = found.posterior.clamp_min(TINY**2).log()
    weights = torch.ones(table.shape)
    place = torch.full((people,), -1)
    place[busiest] = torch.arange(len(busiest))
    there = place[votes.labeler] >= 0
    weights[votes.sample[there], place[votes.labeler[there]]] = found.weight[there]
    voted = (table >= 0).float()
    for one, other in (voted.T @ voted >= MIN_SHARED_SAMPLES).tril(-1).nonzero().tolist():
        shared = ((table[:, one] >= 0) & (table[:, other] >= 0)).nonzero().flatten()
        shared = shared[:: -(-len(shared) // MAX_SHARED_SAMPLES)]
        first, second = (found.confusion[busiest[each]] for each in (one, other))
        rest = logs[shared]
        for each, confusion in ((one, first), (other, second)):
            own = confusion[table[shared, each]].clamp_min(TINY).log()
            rest = rest - found.discount * weights[shared, each][:, None] * own
        agree = float((table[shared, one] == table[shared, other]).float().mean())
        expected = float((rest.softmax(1) @ (first * second).sum(0)).mean())
        error = (max(expected * (1 - expected), 1 / len(shared)) / len(shared)) ** 0.5
        if agree - expected > BEYOND_CHANCE * error:
            share = (agree - expected) / max(1 - expected, TINY)
            if share >= MIN_DEPENDENCE:
                dependence[busiest[one], busiest[other]] = dependence[busiest[other], busiest[one]] = share
    return dependence


def shares_of(votes: Votes, dependence: Tensor) -> Tensor:
    """How much each vote counts, shape (V,): 1 / (1 + sum of its dependence on others who say the same)."""
    busiest = (dependence > 0).any(1).nonzero().flatten()
    if not len(busiest):
        return torch.ones(len(votes))
    table = label_table(votes, busiest)
    repeated = torch.zeros(table.shape)
    for one in range(len(busiest)):
        for other in range(one):
            share = float(dependence[busiest[one], busiest[other]])
            if share > 0:
                same = ((table[:, one] == table[:, other]) & (table[:, one] >= 0)).float() * share
                repeated[:, one] += same
                repeated[:, other] += same
    place = torch.full((len(dependence),), -1)
    place[busiest] = torch.arange(len(busiest))
    its = place[votes.labeler]
    return torch.where(its >= 0, 1 / (1 + repeated[votes.sample, its.clamp_min(0)]), 1.0)


def label_table(votes: Votes, labelers: Tensor) -> Tensor:
    """The labels by these labelers, shape (N, number of labelers); -1 means none."""
    place = torch.full((len(votes.labelers),), -1)
    place[labelers] = torch.arange(len(labelers))
    there = place[votes.labeler] >= 0
    table = torch.full((votes.samples, len(labelers)), -1)
    table[votes.sample[there], place[votes.labeler[there]]] = votes.label[there]
    return table

"""What votes and predictions say together: the true class of each sample, and how far to trust each labeler."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from reweigh.issues.dependence import MIN_SHARED_SAMPLES, dependent, shares_of
from reweigh.issues.rules import counts_of_rules, with_few_classes
from reweigh.issues.stock import CLEARLY, TEMPERATURES, TINY, with_prior
from reweigh.issues.votes import Votes
from reweigh.names import listed, plural

log = logging.getLogger(__name__)
MAX_ROUNDS = 40  # of expectation maximization
MIN_CHANGE = 1e-4  # of a posterior on average, below which it has converged
ACCURACY_VOTES = (2.0, 100.0)  # limits of how many votes at the common accuracy each labeler is given
CONFUSION_VOTES = 40.0  # votes of each true class with the common confusion that each labeler is given (simulated)
CHUNK_CELLS = 2_000_000  # of confusions of soft votes at a time
MIN_EVIDENCE = 1e-4  # probability of any vote
MAX_CONFUSION_CELLS = 20_000_000  # of all labelers; beyond, labelers differ in their accuracy only
DISCOUNTS = (1.0, 0.8, 0.6, 0.45, 0.3)  # by which the evidence of all votes is multiplied; the first if all are alike
BEST_START = 0.9  # accuracy beyond chance of the best labeler, to begin with
PRIOR_AGREEMENT = 20.0  # votes without agreement that each labeler is given, to begin with
MAX_LONE_VOTES = 1.5  # per sample with a vote; beyond, other votes tell how often votes are right
PARTS_OF_ERRORS = (0.02, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)  # of votes that no other vote checks
HIGHER_TEMPERATURES = (2.0, 3.0)  # of models that are too sure about votes that are right
MAX_SCORED_VOTES = 50_000  # to choose the discount and the temperature


class Labelers(NamedTuple):
    """What is known about labelers, and the consensus that follows.

    Attributes:
        posterior: Shape (N, C), probability of each true class of each sample.
        prior: Shape (C,), share of each true class.
        accuracy: Shape (M,), probability that a labeler is right, shrunken toward that of all labelers.
        confusion: Shape (M, C, C), T_m(y | k): probability that labeler m says y (row) if k is the true class (column);
            None if there are too many labelers and classes.
        common: Shape (C, C), the same for all labelers together.
        dependence: Shape (M, M), probability that one labeler repeats what the other says, as far as it is known.
        weight: Shape (V,), how much each vote counts: less than 1 if dependent labelers agree.
        totals: Shape (M, C), number of votes of each labeler for samples of each true class, with those it was given.
        discount: By what the evidence of all votes is multiplied, because hard samples are hard for all.
        temperature: Temperature by which predictions were sharpened.
    """

    posterior: Tensor
    prior: Tensor
    accuracy: Tensor
    confusion: Tensor | None
    common: Tensor
    dependence: Tensor
    weight: Tensor
    totals: Tensor | None = None
    discount: float = 1.0
    temperature: float = 1.0

    def evidence(self, votes: Votes) -> Tensor:
        """Probability of each vote for each true class, shape (V, C).

        The confusion of the labeler is that of its other votes; otherwise labelers with few votes would confirm
        themselves.
        """
        if self.confusion is not None and self.totals is not None:
            true, totals = self.posterior[votes.sample], self.totals[votes.labeler]
            if votes.soft is None:
                said, own = self.confusion[votes.labeler, votes.label], true
            else:
                said, own = torch.empty_like(true), torch.empty_like(true)
                for some, rows, meant, explained in self._meant(votes):
                    said[some] = explained
                    own[some] = (rows[:, :, None] * meant).sum(1)
            return ((said * totals - own) / (totals - true)).clamp_min(MIN_EVIDENCE)
        rows, right = votes_as_rows(votes), self.accuracy[votes.labeler][:, None]
        return (right * rows + (1 - right) * (rows @ off_diagonal(self.common))).clamp_min(TINY)

    def _meant(self, votes: Votes) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """What soft votes mean, a few at a time: a labeler has one label in mind, and reports how likely each is.

        Yields:
            Indices of votes, shape (n,); their rows, (n, C); the joint posterior of the label in mind and the true
            class, (n, C, C); and the probability of the row for each true class, (n, C).
        """
        assert self.confusion is not None
        assert votes.soft is not None
        for some in torch.arange(len(votes)).split(max(1, CHUNK_CELLS // self.common.numel())):
            rows, true = votes.soft[some], self.posterior[votes.sample[some]]
            joint = rows[:, :, None] * self.confusion[votes.labeler[some]]
            explained = joint.sum(1)
            yield some, rows, joint * (true / explained.clamp_min(TINY))[:, None], explained

    def said_by(self, labeler: int) -> Tensor:
        """What a labeler says (row) for each true class (column), shape (C, C)."""
        if self.confusion is not None:
            return self.confusion[labeler]
        right = float(self.accuracy[labeler])
        return right * torch.eye(len(self.common)) + (1 - right) * off_diagonal(self.common)

    def likely(self, votes: Votes) -> Tensor:
        """Probability of all votes for a sample, for each true class, relative to the likeliest one, shape (N, C)."""
        evidence = self.evidence(votes).log_() * (self.discount * self.weight)[:, None]
        logs = torch.zeros(votes.samples, evidence.shape[1]).index_add_(0, votes.sample, evidence)
        return (logs - logs.amax(1, keepdim=True)).exp()


def weigh_votes(
    votes: Votes, predictions: Tensor | None = None, unseen: Tensor | None = None, held_out: Tensor | None = None
) -> Labelers:
    """The posterior of the true class, from votes and predictions, by expectation maximization.

        posterior_i(k)  ~  q_i(k)^(1 / temperature)  prior(k)  prod_votes  T_m(y | k)^(discount * weight)

    This is the model of Dawid and Skene (1979) with four additions: predictions take part; the confusion of a labeler
    is shrunken toward that of all, so that a labeler with few votes does no harm; labelers who repeat each other count
    once; and the discount, which allows for samples that are hard for every labeler. Discount and temperature are those
    with which each vote is predicted best from all else.

    Args:
        votes: The votes.
        predictions: Shape (N, C), probabilities as if all classes were equally frequent. Formula: q.
        unseen: Shape (n, C), predictions for the samples ``held_out`` by models that did not see them, from which the
            temperature is chosen; by default, ``predictions``.
        held_out: Shape (n,), indices of these samples.
    """
    tally = votes.tally() + 0.1
    majority = tally / tally.sum(1, keepdim=True)
    starts = [majority, majority]  # the first converges before it is asked which labelers repeat each other
    logs = torch.zeros_like(tally) if predictions is None else predictions.clamp_min(TINY).log()
    apart, some = logs, slice(None)
    if held_out is not None and unseen is not None and len(held_out):
        apart = logs.index_copy(0, held_out, unseen.clamp_min(TINY).log())
        some = held_out
    if predictions is not None:
        both = (majority.log() * votes.counts[:, None] + logs).softmax(1)
        starts = [both, trusted_by_model(votes, predictions, majority.mean(0))]
    scored = _some_votes(votes, some)
    first = [_converged(votes, logs, _counted(votes, starts[0], None))]
    first += [_counted(votes, start, None) for start in starts[1:]]
    found = [_settled(votes, each, logs, apart, scored, predictions is not None) for each in first]
    best = max(found, key=lambda each: _explained(votes, each, found, apart, scored))
    lone = len(scored) > 0 and len(votes) < MAX_LONE_VOTES * int((votes.counts > 0).sum())
    return _mostly_right(votes, best, logs, apart, scored) if lone and predictions is not None else best


def first_consensus(votes: Votes) -> tuple[Votes, Tensor]:
    """The consensus of votes alone, shape (N,), -1 for samples without a vote; and the votes, with its classes only."""
    while True:
        shared = int((votes.counts > 1).sum())  # without these, nothing is known about labelers
        posterior = votes.tally() if shared < MIN_SHARED_SAMPLES else weigh_votes(votes).posterior
        labels = torch.where(votes.counts > 0, posterior.argmax(1), -1)
        found = torch.bincount(labels[labels >= 0], minlength=len(votes.classes)) > 0
        by_majority = torch.where(votes.counts > 0, votes.tally().argmax(1), -1)
        sizes = torch.bincount(by_majority[by_majority >= 0], minlength=len(votes.classes))
        if int(found.sum()) < 2 or bool((sizes[~found] >= MIN_SHARED_SAMPLES).any()):  # too little is known
            labels, found = by_majority, sizes > 0
        if bool(found.all()) or int(found.sum()) < 2:
            return votes, labels
        lost = (~found)[votes.label]
        log.warning(
            "votes: %s for classes that are nowhere the consensus are left out: %s",
            plural(int(lost.sum()), "vote"),
            listed(repr(name) for name in votes.classes[~found.numpy()].tolist()),
        )
        votes = votes.among(votes.classes[found.numpy()], torch.where(found, found.cumsum(0) - 1, -1))


def trusted_by_model(votes: Votes, predictions: Tensor, shares: Tensor) -> Tensor:
    """A posterior in which labelers count by how far the model, not other labelers, agrees with them, shape (N, C).

    If some labelers repeat each other, their errors may be a majority, but they are no easier to predict.

    Args:
        predictions: Shape (N, C), as if all classes were equally frequent.
        shares: Shape (C,), shares of the classes.
    """
    people, classes = len(votes.labelers), len(shares)
    rows = with_prior(predictions, shares)
    number = torch.bincount(votes.labeler, minlength=people).float()
    beyond = (rows - rows.mean(0))[votes.sample, votes.label]
    agreement = torch.zeros(people).index_add_(0, votes.labeler, beyond) / (number + PRIOR_AGREEMENT)
    best = float(agreement.max())
    if best <= 0:
        return rows
    accuracy = (1 + (classes - 1) * BEST_START * agreement / best) / classes
    accuracy = accuracy.clamp(0.01, 0.99)
    right = (accuracy / (1 - accuracy) * (classes - 1)).log()
    logs = rows.clamp_min(TINY).log()
    return logs.index_put_((votes.sample, votes.label), right[votes.labeler], accumulate=True).softmax(1)


def _settled(votes: Votes, found: Labelers, logs: Tensor, apart: Tensor, scored: Tensor, predicted: bool) -> Labelers:
    """What follows from a first posterior."""
    for rounds in (5, 10, MAX_ROUNDS):
        dependence = dependent(votes, found)
        found = found._replace(dependence=dependence, weight=shares_of(votes, dependence))
        found = _chosen(votes, found, apart, scored, predicted)
        found = _converged(votes, logs, found, rounds)
    return found


def _explained(votes: Votes, found: Labelers, all_: list[Labelers], logs: Tensor, scored: Tensor) -> float:
    """How well votes are predicted by the votes of labelers who are independent of them, and by the model."""
    if len(all_) == 1:
        return 0.0
    dependence = torch.stack([each.dependence for each in all_]).amax(0)
    evidence = found.evidence(votes)
    weighted = found.discount * found.weight[:, None] * evidence.log()
    others = _others(votes, weighted)
    for one, other in (dependence > 0).nonzero().tolist():
        place = torch.full((votes.samples,), -1)
        its = (votes.labeler == other).nonzero().flatten()
        place[votes.sample[its]] = its
        mine = (votes.labeler == one).nonzero().flatten()
        theirs = place[votes.sample[mine]]
        mine, theirs = mine[theirs >= 0], theirs[theirs >= 0]
        others[mine] -= weighted[theirs]
    rows = logs[votes.sample[scored]] / found.temperature
    return _predicted(rows, found.prior, others[scored], evidence[scored])


def _others(votes: Votes, weighted: Tensor) -> Tensor:
    """The sum of the evidence of the other votes for the sample of each vote, shape (V, C)."""
    sums = torch.zeros(votes.samples, weighted.shape[1]).index_add_(0, votes.sample, weighted)
    return sums[votes.sample] - weighted


def _predicted(rows: Tensor, prior: Tensor, others: Tensor, evidence: Tensor) -> float:
    """Mean log-likelihood of votes, predicted from the model and from other votes; all of shape (n, C)."""
    true = (rows.log_softmax(1) + prior.log() + others).softmax(1)
    return float((true * evidence).sum(1).clamp_min(TINY).log().mean())


def _mostly_right(votes: Votes, found: Labelers, logs: Tensor, apart: Tensor, scored: Tensor) -> Labelers:
    """Labelers as right as they may be, if few samples have several votes.

    Wrong votes and a weak model disagree in the same way, so that a model could overrule votes that are right. Of the
    parts of the estimated errors, the smallest is taken that explains votes at most ``CLEARLY`` worse than the best.
    """
    rows, evidence = votes_as_rows(votes).clamp_min(MIN_EVIDENCE), found.evidence(votes)
    shares = (votes.tally().sum(0) + 1) / (len(votes) + len(votes.classes))
    tried = []
    for part in PARTS_OF_ERRORS:
        said, prior = torch.lerp(rows, evidence, part), torch.lerp(shares, found.prior, part)
        weighted = said.log() * (found.discount * found.weight)[:, None]
        others = _others(votes, weighted)[scored]
        for temperature in (*TEMPERATURES, *HIGHER_TEMPERATURES):
            model = apart[votes.sample[scored]] / temperature
            score = len(scored) * _predicted(model, prior, others, said[scored])
            tried.append((score, -part, temperature, prior, weighted))
    enough = max(tried, key=lambda each: each[0])[0] - CLEARLY
    part = max(each[1] for each in tried if each[0] >= enough)
    _, _, temperature, prior, weighted = max((each for each in tried if each[1] == part), key=lambda each: each[0])
    posterior = ((logs / temperature).log_softmax(1) + prior.log()).index_add(0, votes.sample, weighted).softmax(1)
    return _counted(votes, posterior, found)._replace(temperature=temperature)


def _converged(votes: Votes, logs: Tensor, found: Labelers, rounds: int = MAX_ROUNDS) -> Labelers:
    for _ in range(rounds):
        before = found.posterior
        posterior = _posterior(votes, found, logs)
        found = _counted(votes, posterior, found)
        if float((posterior - before).abs().sum(1).mean()) < MIN_CHANGE:
            break
    return found


def _posterior(votes: Votes, found: Labelers, logs: Tensor) -> Tensor:
    """The posterior of ``weigh_votes``.

    Args:
        logs: Shape (N, C), logarithms of predictions.
    """
    evidence = found.evidence(votes).log_() * (found.discount * found.weight)[:, None]
    return (
        ((logs / found.temperature).log_softmax(1) + found.prior.log()).index_add_(0, votes.sample, evidence).softmax(1)
    )


def _counted(votes: Votes, posterior: Tensor, before: Labelers | None) -> Labelers:
    """What labelers do if the posterior is right: their confusions, shrunken."""
    people, classes = len(votes.labelers), posterior.shape[1]
    rows, true = votes_as_rows(replace(votes, soft=None)), posterior[votes.sample]
    number = torch.bincount(votes.labeler, minlength=people).float()
    believed = (rows * true).sum(1)
    counts = torch.zeros(people if people * classes * classes <= MAX_CONFUSION_CELLS else 0, classes, classes)
    if len(counts) and votes.soft is not None and before is not None:
        for some, _, meant, _ in before._replace(posterior=posterior)._meant(votes):
            counts.index_add_(0, votes.labeler[some], meant)
            believed[some] = meant.diagonal(dim1=1, dim2=2).sum(1)
    elif len(counts):
        counts.view(-1, classes).index_add_(0, votes.labeler * classes + votes.label, true)
    there = posterior[votes.counts > 0]
    prior = (there.sum(0) + 1) / (len(there) + classes)
    accuracy = shrunken(torch.zeros(people).index_add_(0, votes.labeler, believed), number)
    joint = rows.T @ true
    mean = float(joint.trace() + 1) / float(joint.sum() + 2)
    joint += CONFUSION_VOTES * even_confusion(mean, classes)
    common = joint / joint.sum(0)
    confusion = totals = None
    if len(counts):
        wrong = ((1 - accuracy) / (1 - mean))[:, None] * (1 - common.diag())
        wrong = wrong.clamp(0.01, 0.99)
        expected = off_diagonal(common) * wrong[:, None, :]
        expected.diagonal(dim1=1, dim2=2).copy_(1 - wrong)
        added = counts + CONFUSION_VOTES * expected
        totals = added.sum(1)
        if len(rules := with_few_classes(votes)):
            added[rules], totals[rules] = counts_of_rules(counts[rules], accuracy[rules], prior)
        confusion = added / totals[:, None]
    if before is None:
        nobody, full = torch.zeros(0, 0), torch.ones(len(votes))
        return Labelers(posterior, prior, accuracy, confusion, common, nobody, full, totals)
    return before._replace(
        posterior=posterior, prior=prior, accuracy=accuracy, confusion=confusion, common=common, totals=totals
    )


def shrunken(right: Tensor, number: Tensor) -> Tensor:
    """Accuracy of each labeler, shrunken toward that of all by as much as labelers are alike (empirical Bayes).

    >>> shrunken(torch.tensor([80.0, 3.0]), torch.tensor([100.0, 3.0]))
    tensor([0.8000, 0.8058])

    Args:
        right: Shape (M,), number of right votes of each labeler.
        number: Shape (M,), number of all its votes.
    """
    total = number.sum()
    mean = ((right.sum() + 1) / (total + 2)).clamp(0.02, 0.98)
    chance = mean * (1 - mean)
    there = number > 0
    share = right[there] / number[there]
    spread = (number[there] * (share - mean) ** 2).sum() - chance * max(int(there.sum()) - 1, 0)
    between = spread / (total - (number**2).sum() / total).clamp_min(1.0)
    strength = float(chance / between.clamp_min(TINY) - 1)
    strength = min(max(strength, ACCURACY_VOTES[0]), ACCURACY_VOTES[1])
    return ((right + strength * mean) / (number + strength)).clamp(0.01, 0.99)


def _some_votes(votes: Votes, samples: Tensor | slice) -> Tensor:
    """Indices of votes by which discount and temperature are chosen: of these samples, drawn evenly."""
    chosen = torch.zeros(votes.samples, dtype=torch.bool)
    chosen[samples] = True
    own = torch.ones(len(votes.labelers), dtype=torch.bool)
    own[with_few_classes(votes)] = False  # a rule that fires says the same whatever the class
    index = (chosen[votes.sample] & own[votes.labeler]).nonzero().flatten()
    return index[:: max(1, -(-len(index) // MAX_SCORED_VOTES))]


def _chosen(votes: Votes, found: Labelers, logs: Tensor, scored: Tensor, predicted: bool) -> Labelers:
    """The discount and the temperature with which each vote is predicted best from the others and the model.

    Args:
        logs: Shape (N, C), logarithms of predictions that were made without the votes of the sample, if possible.
        scored: Indices of the votes that count.
        predicted: Whether there are predictions.
    """
    alone = found.weight[scored] == 1  # a vote is predicted too well from one that it repeats
    scored = scored[alone] if int(alone.sum()) * 2 > len(scored) else scored
    if not len(scored):
        return found
    evidence = found.evidence(votes)
    others = _others(votes, found.weight[:, None] * evidence.log())[scored]
    own, rows = evidence[scored], logs[votes.sample[scored]]

    def explained(discount: float, temperature: float) -> float:
        return _predicted(rows / temperature, found.prior, discount * others, own)

    discount, temperature = found.discount, found.temperature
    for _ in range(2):
        if predicted:
            temperature = max(TEMPERATURES, key=partial(explained, discount))
        discount = max(DISCOUNTS, key=lambda each: explained(each, temperature))
    return found._replace(discount=discount, temperature=temperature)


def votes_as_rows(votes: Votes) -> Tensor:
    """Votes as rows that sum to one, shape (V, C)."""
    if votes.soft is not None:
        return votes.soft
    return torch.zeros(len(votes), len(votes.classes)).scatter_(1, votes.label[:, None], 1.0)


def even_confusion(accuracy: float, classes: int) -> Tensor:
    """A confusion in no particular direction, shape (C, C)."""
    wrong = (1 - accuracy) / max(1, classes - 1)
    return torch.full((classes, classes), wrong).fill_diagonal_(accuracy)


def off_diagonal(confusion: Tensor) -> Tensor:
    """Which class is said instead of each true one if a labeler is wrong, shape (C, C); columns sum to one."""
    off = confusion - confusion.diag().diag()
    return off / off.sum(0).clamp_min(TINY)

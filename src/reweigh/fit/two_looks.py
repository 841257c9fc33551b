"""Two looks: learn early, take stock of the labels, learn again on what is likely right, and combine."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.data.splits import held_out_in_turn
from reweigh.families import Families, sizes_differ
from reweigh.issues.count import Count, claim, done
from reweigh.issues.labels import Labels
from reweigh.issues.stock import Stock
from reweigh.issues.verdict import Finding, Verdict, least_believed
from reweigh.looks import Look, Networks
from reweigh.methods.setup import Again, given_rows
from reweigh.models.ensemble import Ensemble
from reweigh.training.judge import HeldOutScores
from reweigh.training.randomness import seeded

MIN_EPOCHS = 4  # a shorter training cannot be judged
SLIGHT = 0.05  # share of wrong labels below which correcting them costs more than it gains
JUDGING = (2, 5)  # two of five samples of fold 0 are held out of the second look, if it is a single network
MAX_LOSS = 2.0  # standard errors by which the second look must be worse than the first to be dropped


class Outcome(NamedTuple):
    """What two looks come to.

    Attributes:
        model: The classifier.
        history: The numbers of each epoch of both looks.
        verdict: What is thought of each label.
        finding: How many labels are wrong, and what was done about it.
        stock: The confusion of the labels, the shares of the true classes, and more.
        held_out: Indices of samples that some network of each look did not see.
        unseen: Their logits by these networks, shape (n, C).
        weights: Shape (N,), the weight of each sample; None without a second look.
        net: The weighting function; None without a second look.
        families: The families of classes that it was used with; None without a second look.
    """

    model: nn.Module
    history: list[dict[str, Any]]
    verdict: Verdict
    finding: Finding
    stock: Stock
    held_out: Tensor
    unseen: Tensor
    weights: Tensor | None = None
    net: nn.Module | None = None
    families: Families | None = None


def two_looks(
    networks: Networks, train_set: Dataset, vouched: Tensor | None, share: float, options: Mapping[str, Any]
) -> Outcome:
    """Look at the training set, take stock, look again, and combine; ``TwoLooks`` in methods/ says why and how.

    Args:
        vouched: Indices of samples whose labels are beyond doubt, besides those that a person has checked.
        share: Share of the samples in a fold, each of which is held out in turn.
        options: Options of the method ``two-looks``.
    """
    labels, folds = labels_of(train_set, vouched), max(2, round(1 / share))
    fold, judging = held_out_in_turn(train_set.labels, folds, JUDGING, seeded(networks.seed, folds), train_set.groups)
    if networks.epochs < MIN_EPOCHS:
        fold, judging = torch.full_like(fold, -1), torch.zeros_like(judging)
    first = networks.first(fold, folds)
    twice = bool((fold >= 0).any())
    weak = twice and (len(first.models) == 1 or sizes_differ(train_set.class_sizes))
    held_out, unseen = first.held_out, first.unseen.exp()
    stock, count = labels.take_stock(first.best.exp(), unseen, held_out, first.best, weak)
    if not twice:
        verdict = judged(train_set, labels, stock, count, None, False)
        return Outcome(Ensemble(first.models), first.history, *verdict, held_out=held_out, unseen=first.unseen)
    hardly_wrong = count.in_all(labels.given)[0] < SLIGHT and bool((labels.given.amax(1) == 1).all())
    targets = labels.given if hardly_wrong else stock.posterior
    later = networks.second_folds(fold, judging)
    again = Again(labels.given, targets, labels.likely(stock.transition), later, mixes=first.memorizes)
    second = networks.again(again, first, options)
    gain, dropped = compared(second.look, first, train_set.labels, networks.balanced)
    # a single network of the first look, trained for long, no longer counts
    alone = len(first.models) == 1
    sure = first.best / stock.temperature if alone else (first.best / stock.temperature + first.consensus) / 2
    latest = second.look.consensus
    logs = sure if dropped else latest if alone else (sure + latest) / 2
    stock, count = labels.take_stock(logs.softmax(1), unseen, held_out, latest, weak)
    looks = [first] if dropped else [second.look] if alone else [first, second.look]
    apart = second.look.held_out
    return Outcome(
        combined(looks),
        second.look.history,
        *judged(train_set, labels, stock, count, gain, dropped),
        held_out=apart,
        unseen=torch.stack([look.unseen_at(apart) for look in looks]).logsumexp(0),
        weights=second.weights,
        net=second.net,
        families=second.families,
    )


def labels_of(train_set: Dataset, vouched: Tensor | None) -> Labels:
    """The labels of a training set as rows, and which of them are beyond doubt."""
    given = uncorrected = given_rows(train_set, train_set.labels)
    if train_set.uncorrected is not None:
        uncorrected = given_rows(train_set, train_set.uncorrected)
    known = torch.zeros(len(train_set), dtype=torch.bool) if train_set.trusted is None else train_set.trusted.clone()
    if vouched is not None:
        known[vouched] = True
    return Labels(given, uncorrected, known)


def compared(second: Look, first: Look, labels: Tensor, balanced: bool) -> tuple[tuple[float, float], bool]:
    """The gain in accuracy on samples that neither look has seen, its standard error, and whether it is a loss."""
    index = second.held_out
    right = [(look.unseen_at(index).argmax(1) == labels[index]).double() for look in (second, first)]
    gain, error = HeldOutScores(labels[index], balanced).compare(*right)
    return (gain, error), gain < -MAX_LOSS * error


def combined(looks: list[Look]) -> Ensemble:
    """The mean of the probabilities of the looks, each of which is the mean of its models."""
    models = [(model, 1 / (len(looks) * len(look.models))) for look in looks for model in look.models]
    return Ensemble([model for model, _ in models], [share for _, share in models]).eval()


def judged(
    train_set: Dataset, labels: Labels, stock: Stock, count: Count, gain: tuple[float, float] | None, dropped: bool
) -> tuple[Verdict, Finding, Stock]:
    """The verdict on every label, what was found in words, and the stock that both are from."""
    believed = (labels.given * stock.posterior).sum(1)
    verdict = least_believed(believed, stock.posterior, train_set.labels, count.in_all(labels.given)[0])
    found = claim(count, labels.given, stock.joint, train_set.class_names)
    words = f"{found} {done(count, gain, dropped)}"
    count = count.by_class(1 - verdict.quality, labels.given)
    return verdict, Finding(count.share.tolist(), count.low.tolist(), count.high.tolist(), words, found), stock

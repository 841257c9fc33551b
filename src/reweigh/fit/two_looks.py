"""Two looks: learn early, take stock of the labels, learn again on what is likely right, and combine."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.data.splits import equal_inputs, held_out_in_turn
from reweigh.families import Families
from reweigh.fit.decision import calibrate
from reweigh.issues.count import Count, EqualInputs, claim, claim_of_consensus, direction, done, suggestions
from reweigh.issues.labels import Labels
from reweigh.issues.stock import TINY, Stock, with_prior
from reweigh.issues.verdict import Finding, Verdict, least_believed
from reweigh.looks import Classifiers, Look, Networks, pooled, shares_of
from reweigh.methods.setup import Again, given_rows
from reweigh.methods.two_looks import Belief
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
        unseen: Their logits by these networks, shape (n, C); if that is less sure, of the second look only as far as it
            is ``confirmed``.
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
    networks: Networks, beside: Sequence[Classifiers], train_set: Dataset, share: float, options: Mapping[str, Any]
) -> Outcome:
    """Look at the training set, take stock, look again, and combine; ``TwoLooks`` in methods/ says why and how.

    Args:
        beside: Classifiers of other kinds, which look too.
        share: Share of the samples in a fold, each of which is held out in turn.
        options: Options of the method ``two-looks``.
    """
    labels, folds = labels_of(train_set), max(2, round(1 / share))
    fold, judging = held_out_in_turn(train_set.labels, folds, JUDGING, seeded(networks.seed, folds), train_set.groups)
    if networks.epochs < MIN_EPOCHS:
        fold, judging = torch.full_like(fold, -1), torch.zeros_like(judging)
    twice = bool((fold >= 0).any())
    by_others = [each.first(fold, folds) for each in beside] if twice else []  # early, since they may fail
    by_networks = first = networks.first(fold, folds)
    alone, shares = len(by_networks.models) == 1, [1.0]
    counts = [0.0] + [1 / len(beside)] * len(beside) if options["only"] else None
    if by_others:
        shares = shares_in([by_networks, *by_others], [1.0, *(each.most for each in beside)], labels)
        first = pooled([by_networks, *by_others], shares, counts)
    held_out, unseen = first.held_out, first.unseen.exp()
    stock, count = labels.take_stock(first.best.exp(), unseen, held_out)
    if not twice:
        credible = labels.credible(first.best.exp(), stock)
        verdict = judged(train_set, labels, credible, stock, count, None, False)
        return Outcome(combined([first]), first.history, *verdict, held_out=held_out, unseen=first.unseen)
    single = labels.votes is None and bool((labels.given.amax(1) == 1).all())
    hardly_wrong = single and count.share < SLIGHT
    targets = labels.given if hardly_wrong else stock.posterior
    later = networks.second_folds(fold, judging)
    again = Again(labels.given, targets, labels.likely(stock), later, mixes=first.memorizes)
    learned = networks.again(again, by_networks, options)
    second = learned.look
    if by_others:
        trusted = learned.weights[:, None]
        _, right, other = Belief.of(targets, labels.given, targets.mean(0))
        wanted = trusted * right + (1 - trusted) * other
        others = [each.again(wanted, fold, its) for each, its in zip(beside, by_others, strict=True)]
        second = pooled([second, *others], shares, counts)
    gain, dropped = compared(second, first, train_set.labels, networks.balanced)
    # a single network of the first look, trained for long, no longer counts
    sure = first.best / stock.temperature if alone else (first.best / stock.temperature + first.consensus) / 2
    latest = second.consensus
    logs = sure if dropped else latest if alone else (sure + latest) / 2
    stock, count = labels.take_stock(logs.softmax(1), unseen, held_out)
    credible = labels.credible(logs.softmax(1), stock)
    looks = [first] if dropped else [second] if alone else [first, second]
    apart, part = second.held_out, 0.0 if dropped else 1 / len(looks)
    logits = _mixed(first, second, part)
    if not dropped and (known := confirmed(second, first, labels.likely(stock), stock.prior)) < 1:
        less = _mixed(first, second, known * part)
        logits = least_sure([logits, less], train_set.labels[apart], stock.joint)
    return Outcome(
        combined(looks),
        second.history,
        *judged(train_set, labels, credible, stock, count, gain, dropped),
        held_out=apart,
        unseen=logits,
        weights=learned.weights,
        net=learned.net,
        families=learned.families,
    )


def shares_in(looks: Sequence[Look], most: Sequence[float], labels: Labels) -> list[float]:
    """The share of each look in a mixture, by held-out labels that are seen through the confusion."""
    both, index = pooled(looks, [1 / len(looks)] * len(looks)), looks[0].held_out
    stock, _ = labels.take_stock(both.best.exp(), both.unseen.exp(), index)
    each = [with_prior(look.unseen_at(index).exp(), stock.prior) for look in looks]
    return shares_of(each, labels.likely(stock)[index], most)


def labels_of(train_set: Dataset) -> Labels:
    """The labels of a training set as rows, and which of them are beyond doubt."""
    given = uncorrected = given_rows(train_set, train_set.labels)
    if train_set.uncorrected is not None:
        uncorrected = given_rows(train_set, train_set.uncorrected)
    known = torch.zeros(len(train_set), dtype=torch.bool) if train_set.trusted is None else train_set.trusted
    groups, pictures = equal_inputs(train_set), train_set.is_images or bool(train_set.reading.names)
    equal = None if groups is None else EqualInputs(groups, copied=pictures)
    return Labels(given, uncorrected, known, train_set.votes, equal)


def compared(second: Look, first: Look, labels: Tensor, balanced: bool) -> tuple[tuple[float, float], bool]:
    """The gain in accuracy on samples that neither look has seen, its standard error, and whether it is a loss."""
    index = second.held_out
    right = [(look.unseen_at(index).argmax(1) == labels[index]).double() for look in (second, first)]
    gain, error = HeldOutScores(labels[index], balanced).compare(*right)
    return (gain, error), gain < -MAX_LOSS * error


def confirmed(second: Look, first: Look, likely: Tensor, prior: Tensor) -> float:
    """How much of what the second look knows about held-out labels the first look knows too, from 0 to 1.

        gain = sum_i  log sum_k T(y_i | k) p_i(k)  -  log sum_k T(y_i | k) prior_k

    What the second look learns is from models that saw these labels, so that it predicts even random ones better than
    by chance. The first look did not see them. If probabilities are less sure that way, they are calibrated on the
    second only as far as it is confirmed.

    Args:
        likely: Shape (N, C), probability of the given label of each sample for each true class.
        prior: Shape (C,), shares of the classes.
    """
    by_chance = likely[second.held_out] @ prior

    def gain(look: Look) -> float:
        products = with_prior(look.unseen_at(second.held_out).exp(), prior) * likely[second.held_out]
        return float((products.sum(1) / by_chance.clamp_min(TINY)).clamp_min(TINY).log().sum())

    gains = gain(first), gain(second)
    return min(max(gains[0], 0.0) / gains[1], 1.0) if gains[1] > 0 else 1.0


def _mixed(first: Look, second: Look, part: float) -> Tensor:
    """Logits of the samples that the second look holds out, if it has this part in the mean of probabilities."""
    shares = torch.tensor([1 - part, part]).clamp_min(TINY).log()[:, None, None]
    return (torch.stack([first.unseen_at(second.held_out), second.unseen]) + shares).logsumexp(0)


def least_sure(several: list[Tensor], labels: Tensor, joint: Tensor) -> Tensor:
    """Those logits that ask for the highest temperature."""
    return max(several, key=lambda logits: calibrate(logits, labels, joint).temperature)


def combined(looks: list[Look]) -> Ensemble:
    models = [(model, share / len(looks)) for look in looks for model, share in look.counted()]
    return Ensemble([model for model, _ in models], [share for _, share in models]).eval()


def judged(
    train_set: Dataset,
    labels: Labels,
    credible: Tensor,
    stock: Stock,
    count: Count,
    gain: tuple[float, float] | None,
    dropped: bool,
) -> tuple[Verdict, Finding, Stock]:
    """The verdict on every label, what was found in words, and the stock that both are from."""
    verdict = least_believed(credible, stock.posterior, train_set.labels, count.share)
    between = ""
    if labels.votes is None:
        between = direction(
            suggestions(len(train_set.class_names), (train_set.labels, verdict.suggested)), train_set.class_names
        )
        found = claim(count, between, train_set.class_names)
    else:
        found = claim_of_consensus(count, stock.posterior)
    share, low, high = (each.tolist() for each in count.by_class(1 - verdict.quality, labels.given))
    return verdict, Finding(share, low, high, f"{found} {done(count, gain, dropped)}", found, between), stock

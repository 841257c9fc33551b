"""(Dataset, Plan) -> Fit: train, judge every training sample, and keep what was learned."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from reweigh.core.shards import whole
from reweigh.data import Dataset, with_label
from reweigh.data.splits import groups_of, joined, near_copies
from reweigh.fit.decision import Decision, after_training, before_training
from reweigh.fit.front import Front, beside_neighbors, open_front
from reweigh.fit.inputs import InputForm
from reweigh.fit.issues import in_all, is_held_out, judge_samples, judges, set_apart, unseen
from reweigh.fit.scored import Scored, judged_by, scored
from reweigh.fit.trainer import Build, Trained, Trainer, builder, find_device
from reweigh.fit.weighting import Weighting
from reweigh.issues import Samples
from reweigh.issues.labelers import Labelers, weigh_votes
from reweigh.issues.true_labels import correction, on_true_labels
from reweigh.issues.verdict import Finding
from reweigh.issues.votes import Votes
from reweigh.plan import Plan
from reweigh.plan.plan import method_named
from reweigh.threads import one_at_a_time, threads
from reweigh.training import Observer, Result, Run, labels_of, processes

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fit:
    """A trained classifier, and what was learned about its training samples.

    Attributes:
        class_sizes: Training samples of each class by given label.
        samples: What training made of each sample of the training set.
        weighting: The weighting function with the families that were used; None if the method has none.
        origin: Shape (N,), the row of each training sample in the data that it was read from.
        decision: How logits become probabilities; the predictions below have the logits of the model itself.
        tested: Predictions for the test set with its labels; None without a test set.
        test_origin: The row of each test sample in its data; None without a test set.
        held_out: Predictions for the samples held out to set when to abstain; None if there are none.
        finding: How many labels are wrong, and what was done about it; None if the method does not estimate that.
        unseen: What the model makes of the labels of the test set, which it was not trained on; None without one.
        apart: Predictions for training samples by networks that were not trained on them; None if there are none.
        correction: Shape (C, C), how much a given label of a test sample counts for each true class
            (``reweigh.issues.true_labels``); None if test labels count as right.
        votes: The votes of several labelers; None if there is one label per sample.
        labelers: What was found out about these labelers.
    """

    plan: Plan
    inputs: InputForm
    class_names: tuple[str, ...]
    class_sizes: tuple[int, ...]
    model: nn.Module
    samples: Samples
    weighting: Weighting | None
    history: list[dict[str, Any]]
    origin: Tensor
    decision: Decision
    tested: Scored | None = None
    test_origin: Tensor | None = None
    held_out: Scored | None = None
    finding: Finding | None = None
    front: Front | None = None
    unseen: Samples | None = None
    apart: Scored | None = None
    correction: Tensor | None = None
    votes: Votes | None = None
    labelers: Labelers | None = None


@one_at_a_time()
def fit(
    train_set: Dataset,
    plan: Plan,
    *,
    test_set: Dataset | None = None,
    trusted: Dataset | None = None,
    further: Mapping[str, Dataset] = MappingProxyType({}),
    build: Build | None = None,
    front: Front | None = None,
    classifier: Any = None,
    run: Callable[[], Run] | None = None,
    observer: Observer | None = None,
    trust_code: bool = False,
) -> Fit:
    """Train by a plan, and judge the label of every training sample.

    Args:
        train_set: Samples with their given labels, right or wrong.
        plan: What to train and how; its section [data] is not read.
        test_set: What the model is judged on after each epoch.
        trusted: Trusted samples apart from the training set, if the plan's meta set asks for them.
        further: Further sets that the model is judged on after each epoch, by name.
        build: Makes the network, if the plan names none.
        front: The frozen network in front of it, if the plan names none and there is one.
        classifier: A classifier that looks beside the networks, if the plan asks for the user's own.
        run: Opens the folder for metrics and checkpoints. It is called once everything is built, so that a plan that
            cannot be built leaves an earlier run there alone.
        trust_code: Whether a network from outside the package may be built, which runs its code.

    Raises:
        DataError: The samples do not suit the plan.
        ModelError: The network does not fit the samples.
        DivergedError: The loss is no longer finite.
    """
    device = find_device(plan.train["device"])
    train_set = usable(train_set, plan.method.name)
    raw = train_set = replace(train_set, groups=groups_of(train_set))
    front = front or open_front(plan.features, raw.shape, raw.reading.encoding, trust_code)
    if front is not None:
        train_set = front.through(raw, None, device, observer)
        behind = partial(front.through, normalize=train_set.normalize, device=device, observer=observer)
        test_set = test_set and behind(test_set)
        trusted = trusted and behind(trusted)
        further = {name: behind(some) for name, some in further.items()}
    train_set = processes.fetched_together(train_set)
    test_set, trusted = (some and processes.fetched_together(some) for some in (test_set, trusted))
    tests = {} if test_set is None else {"": test_set}
    tests |= {f"{name}_": processes.fetched_together(some) for name, some in further.items()}
    if build is None:
        assert plan.model is not None
        build = builder(plan.model, trust_code)
    trainer = Trainer(plan, build, device, trusted, classifier)
    with threads(plan.train["num_threads"]):
        of_test = None if test_set is None else test_set.inputs
        neighbors = None if front is None else front.neighborhood(train_set.inputs, of_test)
        if neighbors is not None:
            alike = near_copies(neighbors.near_duplicate_of)
            groups = joined(train_set.groups, alike if alike is None else alike[: len(train_set)])
            train_set = replace(train_set, groups=groups)
        fitted = trained_by(trainer, train_set, raw, tests, front, run, observer)
        samples, unseen = beside_neighbors(fitted.samples, fitted.unseen, fitted.tested, neighbors)
        return replace(fitted, samples=samples, unseen=unseen)


def trained_by(
    trainer: Trainer,
    train_set: Dataset,
    raw: Dataset,
    tests: Mapping[str, Dataset],
    front: Front | None,
    run: Callable[[], Run] | None,
    observer: Observer | None,
) -> Fit:
    """Train on samples as the model takes them, and judge the label of each.

    Args:
        tests: The sets to judge the model on, by what the names of their numbers begin with; nothing for the main one.
    """
    test_set = tests.get("")
    plan, device = trainer.plan, trainer.device
    share, seed = plan.train["judge"], plan.train["seed"]
    kept, abstaining = set_apart(train_set, plan.train["abstain"], seed)
    judging = kept[:0] if trainer.looks_twice or not share else kept[judges(train_set.subset(kept), share, seed)]
    kept = kept[~torch.isin(kept, judging)]
    apart = torch.cat([judging, abstaining])
    used = train_set.subset(kept) if len(apart) else train_set
    sizes = used.class_sizes
    first = before_training(plan, used.labels, used.sample_weight, used.class_names)
    tested_by = partial(judged_by, tests, sizes, device, method_named(plan.method.name).abstains, aim=plan.train["aim"])
    evaluate = tested_by(first) if tests else None
    trained = trainer.train(used, evaluate, run, observer, train_set.subset(judging) if len(judging) else None)
    model, look = trained.model, partial(judged, trained.model, device=device)
    net, families = trained.net, trained.families
    weighting = None if net is None or families is None else Weighting(net.cpu(), families, trained.reads)
    samples = judge_samples(trainer, trained, train_set, kept, apart, weighting)
    counted = train_set.with_labels(torch.where(samples.given >= 0, samples.given, samples.suggested))
    tested = None if test_set is None else look(test_set)
    predicted = look(train_set.subset(apart)) if len(apart) else None
    decision, confusion = decided(first, trained, used, plan, predicted)
    line, right = Result(trained.history).kept, None
    if tests and decision != first:
        line |= {f"test_{name}": found for name, found in tested_by(decision)(model).items()}
    if tested is not None and confusion is not None and is_held_out(plan, test_set):
        right = correction(confusion)
        line |= if_labels_were_right(tested, decision, confusion)
    labelers = None if trained.stock is None else trained.stock.labelers
    if used.votes is not None and labelers is None:
        labelers = weigh_votes(used.votes)
    held_out, of_the_data = None, test_set is not None and is_held_out(plan, test_set)
    if test_set is not None and tested is not None:
        held_out = unseen(plan, test_set, tested, samples, trained.finding if of_the_data else None)
    return Fit(
        plan=plan,
        inputs=InputForm.of(train_set, raw if front is not None else None),
        class_names=train_set.class_names,
        class_sizes=tuple(counted.class_sizes.tolist()),
        model=whole(model),
        samples=samples,
        weighting=weighting,
        history=trained.history,
        origin=train_set.source_rows,
        decision=decision,
        tested=tested,
        test_origin=None if test_set is None else test_set.source_rows,
        held_out=predicted and predicted.part(len(judging)) if len(abstaining) else None,
        finding=in_all(trained.finding, samples, held_out if of_the_data else None, train_set.class_names),
        front=front,
        apart=predicted,
        correction=right,
        votes=used.votes,
        labelers=labelers,
        unseen=held_out,
    )


def decided(
    first: Decision, trained: Trained, used: Dataset, plan: Plan, apart: Scored | None
) -> tuple[Decision, Tensor | None]:
    """How to decide after training; see ``after_training``."""
    weights, own = trained.weights, used.sample_weight
    weights = weights if weights is None or own is None else weights.nan_to_num(1.0) * own
    held_out = joint = None
    if trained.stock is not None and len(trained.held_out):
        contained = torch.tensor(first.contained).log()
        held_out, joint = (trained.unseen + contained, used.labels[trained.held_out]), trained.stock.joint
    elif apart is not None and apart.labels is not None:
        held_out = apart.logits, apart.labels
    return after_training(first, plan, used.class_names, weights, used.labels, held_out, joint)


def if_labels_were_right(tested: Scored, decision: Decision, confusion: Tensor) -> dict[str, float]:
    """What the test would come to on true labels, as ``true_accuracy`` and so on, each with its standard error."""
    assert tested.labels is not None
    known = tested.labels >= 0
    logits, labels = decision.logits(tested.logits[known]), tested.labels[known]
    found = on_true_labels(logits, labels, confusion, decision.calibrated)
    return {
        f"true_{name}{kind}": value
        for name, (value, error) in found.items()
        for kind, value in (("", value), ("_error", error))
    }


def usable(train_set: Dataset, method: str) -> Dataset:
    """The training set without the samples that have no label, unless the method learns from these too."""
    kind = method_named(method)
    if train_set.candidates is not None and not kind.candidates:
        logger.info("method %r treats all candidates of a sample equally; 'proden' finds the right one", method)
    if kind.unlabeled or bool(train_set.labeled.all()):
        return train_set
    left = with_label(train_set)
    logger.info("%d of %d samples have a label; method %r trains on these only", len(left), len(train_set), method)
    return left


def judged(model: nn.Module, dataset: Dataset, device: torch.device) -> Scored:
    """The predictions of the model for labeled samples."""
    found = scored(model, dataset, device)
    return found._replace(labels=labels_of(dataset, found.logits))

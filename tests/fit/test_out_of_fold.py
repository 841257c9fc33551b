"""Predictions of models that did not see the sample."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from torch import nn

from reweigh.data import Dataset, from_arrays
from reweigh.fit import fit
from reweigh.fit.issues import (
    MIN_PATIENCE_EPOCHS,
    NUM_FOLDS,
    NUM_ROUNDS,
    HeldOut,
    brief_epochs,
    folds,
    held_out,
    out_of_fold,
)
from reweigh.fit.trainer import Trainer
from reweigh.models import MODELS
from reweigh.plan import Plan
from reweigh.plan.check import examine
from reweigh.plan.choose import Facts, chosen


def test_folds_are_even_in_every_class():
    labels = torch.tensor([0] * 23 + [1] * 10 + [2] * 5 + [3])[torch.randperm(39)]
    fold = folds(labels, seed=4)
    for label in range(3):
        counts = torch.bincount(fold[labels == label], minlength=NUM_FOLDS)
        assert int(counts.max() - counts.min()) <= 1
    assert fold[labels == 3].tolist() == [-1]
    assert torch.equal(fold, folds(labels, seed=4))
    assert not torch.equal(fold, folds(labels, seed=5))


class Memory(nn.Module):
    """Predicts class 0 for an input that it was trained on, else class 1; the first number of an input is its place."""

    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def forward(self, inputs):
        seen = torch.isin(inputs[:, 0], self.seen)
        return torch.stack([seen, ~seen, ~(seen | True)], 1) * 100.0


def planned(train_set, **given) -> Plan:
    plan, mistakes = examine(chosen(Facts.of(train_set), given), passed=["data"])
    assert not mistakes
    return plan


@dataclass(frozen=True)
class Spy:
    """A trainer whose models remember what they saw."""

    plan: Plan
    device: str = "cpu"
    trained: list = field(default_factory=list)

    def train(self, train_set, evaluate):
        train = self.plan.train
        self.trained.append((train["epochs"], train["seed"], self.plan.method.name, train_set.labels))
        model = Memory(train_set.batch(torch.arange(len(train_set))).inputs[:, 0])
        for _ in range(train["epochs"]):
            evaluate(model)


def spying(samples, kind=Spy):
    return kind(planned(samples, train={"epochs": 4}))


def test_no_sample_is_judged_by_a_model_that_saw_it():
    labels = torch.tensor([0, 1] * 10 + [2] + [-1])
    samples = Dataset(torch.arange(22.0)[:, None], labels, ("a", "b", "c"))
    spy = spying(samples)
    index, rows = out_of_fold(spy, samples)
    assert index.tolist() == list(range(20))  # the only one of its class, and one without a label, are not
    assert rows.argmax(1).tolist() == [1] * 20
    assert all((labels >= 0).all() for *_, labels in spy.trained)
    assert {method for _, _, method, _ in spy.trained} == {"erm"}
    assert [epochs for epochs, *_ in spy.trained] == [4] + [1] * NUM_ROUNDS * NUM_FOLDS  # the loss never falls
    assert [seed for _, seed, *_ in spy.trained[1:]] == [0] * NUM_FOLDS + [1] * NUM_FOLDS + [2] * NUM_FOLDS


def test_nothing_to_hold_out():
    samples = Dataset(torch.arange(3.0)[:, None], torch.arange(3), ("a", "b", "c"))
    assert len(out_of_fold(spying(samples), samples)[0]) == 0


class Course(nn.Module):
    """Believes the right label, 0, as far as it is told."""

    def forward(self, inputs):
        return torch.stack([torch.full((len(inputs),), self.belief), torch.zeros(len(inputs))], 1)


def test_training_is_as_brief_as_the_held_out_labels_like_it():
    class Slow(Spy):
        def train(self, train_set, evaluate):
            model = Course()
            for model.belief in [0.0, 2.0, 3.0, 1.0]:
                evaluate(model)

    samples = Dataset(torch.arange(20.0)[:, None], torch.zeros(20, dtype=torch.int64), ("a", "b"))
    assert brief_epochs(spying(samples, Slow), samples) == 3


def test_a_training_that_gets_no_better_is_ended():
    looked = []

    class Slow(Spy):
        def train(self, train_set, evaluate):
            model = Course()
            for model.belief in [0.0, 2.0, 3.0] + [1.0] * 30:
                looked.append(model.belief)
                evaluate(model)

    samples = Dataset(torch.arange(20.0)[:, None], torch.zeros(20, dtype=torch.int64), ("a", "b"))
    assert brief_epochs(spying(samples, Slow), samples) == 3
    assert looked == [0.0, 2.0, 3.0] + [1.0] * MIN_PATIENCE_EPOCHS


def test_a_training_can_be_ended_from_inside():
    """The training loop of the library passes the exception on, and leaves nothing behind."""
    rng = np.random.default_rng(0)
    samples = from_arrays(rng.normal(size=(60, 4)).astype(np.float32), rng.integers(0, 2, 60))
    trainer = Trainer(planned(samples, train={"epochs": 40}), partial(MODELS["mlp"], hidden=(64,)), torch.device("cpu"))
    before = torch.get_rng_state()
    look = held_out(trainer, samples, torch.arange(60) < 12, stop=True)
    assert len(look.losses) == look.best_epoch + max(look.best_epoch, MIN_PATIENCE_EPOCHS) < 40
    assert torch.equal(torch.get_rng_state(), before)


def test_predictions_are_averaged_along_training():
    samples = Dataset(torch.arange(4.0)[:, None], torch.zeros(4, dtype=torch.int64), ("a", "b"))
    look, model = HeldOut(samples, torch.device("cpu")), Course()
    for model.belief in [0.0, 1.0]:
        look(model)
    expected = (0.5 + torch.tensor(1.0).sigmoid().item()) / 2
    torch.testing.assert_close(look.predicted[:, 0], torch.full((4,), expected, dtype=torch.float64))


def test_out_of_fold_finds_what_a_net_memorizes():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 240)
    X = (rng.normal(size=(240, 500)) + 0.25 * truth[:, None]).astype(np.float32)
    wrong = rng.random(240) < 0.2
    train_set = from_arrays(X, np.where(wrong, 1 - truth, truth))
    found = {}
    for scoring in ("out-of-fold", "in-training"):
        given = {"epochs": 10, "batch_size": 24, "scoring": scoring}
        plan = planned(train_set, method={"name": "erm"}, model={"name": "mlp", "skip": False}, train=given)
        issues = fit(train_set, plan).samples.label_issues([0, 1])
        found[scoring] = wrong[issues.index[: wrong.sum()]].mean()
        assert issues["is_label_issue"].tolist() == (issues["given_label"] != issues["suggested_label"]).tolist()
    assert found["out-of-fold"] > 0.75 > found["in-training"]


def test_what_a_memorizing_net_trusts_does_not_count():
    """The verdict is the same whether the method has weights or not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)).astype(np.float32), torch.arange(60) % 2
    train_set = Dataset(torch.from_numpy(X), y, ("a", "b"))
    found = {}
    for method in ("erm", "cmw-net"):
        found[method] = fit(train_set, planned(train_set, method={"name": method}, train={"epochs": 4})).samples
    assert torch.equal(found["cmw-net"].quality, found["erm"].quality)
    assert found["cmw-net"].weights is not None
    assert not found["cmw-net"].weights.isnan().any()

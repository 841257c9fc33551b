"""Predictions of models that did not see the sample."""

import numpy as np
import torch

from reweigh.data import Dataset
from reweigh.estimator.scoring import FOLDS, choose_scoring, folds, out_of_fold
from reweigh.estimator.trainer import Trained
from reweigh.pseudo_labels import predictions


def test_folds_are_even_in_every_class():
    labels = torch.tensor([0] * 23 + [1] * 10 + [2] * 5 + [3])[torch.randperm(39)]
    fold = folds(labels, seed=4)
    for label in range(3):
        counts = torch.bincount(fold[labels == label], minlength=FOLDS)
        assert int(counts.max() - counts.min()) <= 1
    assert fold[labels == 3].tolist() == [-1]
    assert torch.equal(fold, folds(labels, seed=4))
    assert not torch.equal(fold, folds(labels, seed=5))


class Memory(torch.nn.Module):
    """Tells whether it was trained on an input, which is the number of the sample."""

    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def forward(self, inputs):
        seen = torch.isin(inputs[:, 0], self.seen)
        return torch.stack([seen, ~seen, ~(seen | True)], 1) * 100.0


class Spy:
    """A trainer whose models remember what they saw."""

    seed, device = 0, torch.device("cpu")

    def train(self, train_set):
        method = type("Method", (), {"model": Memory(train_set.batch(torch.arange(len(train_set))).inputs[:, 0])})
        return Trained(method, [], None)


def test_no_sample_is_judged_by_a_model_that_saw_it():
    labels = torch.tensor([0, 1] * 10 + [2])
    samples = Dataset(torch.arange(21.0)[:, None], labels, ("a", "b", "c"))
    judged = predictions(labels, 3, 0.9)
    out_of_fold(Spy(), samples, judged)
    assert torch.allclose(judged[torch.arange(20)], torch.tensor([[0.0, 1.0, 0.0]] * 20))
    assert judged[torch.tensor([20])].tolist() == [[0, 0, 1]]  # the only one of its class is never left out


def test_out_of_fold_finds_what_a_net_memorizes(quick):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 120)
    X = (rng.normal(size=(120, 200)) + 0.3 * truth[:, None]).astype(np.float32)
    wrong = rng.random(120) < 0.2
    classifier = quick("erm", scoring="out-of-fold", epochs=10).fit(X, np.where(wrong, 1 - truth, truth))
    worst = classifier.label_issues_["index"][: wrong.sum()]
    assert wrong[worst].mean() > 0.6
    assert classifier.scoring_ == "out-of-fold"


def test_auto_holds_samples_out_where_a_net_memorizes_at_once(caplog):
    caplog.set_level("INFO")
    assert choose_scoring((20,), False, 1000) == "in-training"
    assert choose_scoring((3, 32, 32), False, 1000) == "in-training"  # images
    assert not caplog.records
    assert choose_scoring((1001,), True, 2000) == "out-of-fold"
    assert "2000 rows for 1001 features are memorized at once" in caplog.text
    assert choose_scoring((1000,), True, 2000) == "in-training"
    assert choose_scoring((100_000,), True, 20_001) == "in-training"  # too much work to begin unasked

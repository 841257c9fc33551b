"""How far to trust each labeler, against loops and against truth that was simulated."""

import numpy as np
import pandas as pd
import pytest
import torch

from reweigh import DataError
from reweigh.issues.consensus import consensus_table, labeler_table, next_votes, vote_table
from reweigh.issues.dependence import dependent
from reweigh.issues.labelers import first_consensus, weigh_votes
from reweigh.issues.votes import Votes


def simulated(accuracies, samples=600, classes=3, density=1.0, seed=0):
    """True classes, and votes of labelers who are right with these probabilities."""
    random = np.random.default_rng(seed)
    true = random.integers(classes, size=samples)
    columns = [
        np.where(random.random(samples) < each, true, (true + random.integers(1, classes, samples)) % classes)
        for each in accuracies
    ]
    votes = np.where(random.random((samples, len(columns))) < density, np.stack(columns, 1), -1)
    return true, votes


def test_the_posterior_is_that_of_a_loop():
    _, wide = simulated([0.9, 0.7, 0.6], samples=80, density=0.8)
    votes, predictions = Votes.of(wide), torch.rand(80, 3, generator=torch.Generator().manual_seed(0)).softmax(1)
    found = weigh_votes(votes, predictions)
    assert found.confusion is not None
    assert found.totals is not None
    for sample in range(80):
        odds = []
        for true in range(3):
            value = float(found.prior[true]) * float(predictions[sample, true]) ** (1 / found.temperature)
            for vote in (votes.sample == sample).nonzero().flatten().tolist():
                who, said = int(votes.labeler[vote]), int(votes.label[vote])
                own, total = float(found.posterior[sample, true]), float(found.totals[who, true])
                others = (float(found.confusion[who, said, true]) * total - own) / (total - own)
                value *= others ** (found.discount * float(found.weight[vote]))
            odds.append(value)
        expected = np.array(odds) / sum(odds)
        np.testing.assert_allclose(found.posterior[sample].numpy(), expected, atol=0.02)  # it has nearly converged


def test_good_careless_and_adversarial_labelers_are_told_apart():
    accuracies = [0.9, 0.85, 0.6, 0.1]
    true, wide = simulated(accuracies)
    votes = Votes.of(wide)
    found = weigh_votes(votes)
    majority = votes.tally().argmax(1).numpy()
    consensus = found.posterior.argmax(1).numpy()
    assert (consensus == true).mean() > (majority == true).mean() + 0.05
    np.testing.assert_allclose(found.accuracy.numpy(), accuracies, atol=0.06)


def test_a_labeler_with_three_votes_is_thought_of_as_all_are():
    _, wide = simulated([0.8, 0.8, 0.8])
    few = np.full((600, 1), -1)
    few[:3, 0] = (wide[:3, 0] + 1) % 3
    found = weigh_votes(Votes.of(np.hstack([wide, few])))
    assert 0.6 < float(found.accuracy[3]) < 0.8


def test_labelers_who_repeat_each_other_count_once():
    _, wide = simulated([0.85, 0.6, 0.85, 0.85])
    wide = np.hstack([wide, wide[:, 1:2]])
    votes = Votes.of(wide)
    found = weigh_votes(votes)
    assert float(found.dependence[1, 4]) == pytest.approx(1, abs=0.05)
    assert int((found.dependence > 0).sum()) == 2
    both = (wide[votes.sample.numpy(), 1] == wide[votes.sample.numpy(), 4]) & np.isin(votes.labeler.numpy(), [1, 4])
    np.testing.assert_allclose(found.weight.numpy()[both], 0.5, atol=0.02)
    assert (found.weight.numpy()[~both] == 1).all()
    assert labeler_table(votes, found)["repeats"].tolist() == ["", "4", "", "", "1"]


def test_independent_labelers_are_not_taken_for_dependent():
    for seed in range(5):
        _, wide = simulated([0.9, 0.8, 0.7, 0.6], seed=seed, density=0.7)
        votes = Votes.of(wide)
        assert not dependent(votes, weigh_votes(votes)).any()


def test_limits_of_accuracy_hold_in_ninety_percent():
    held = []
    for seed in range(20):
        true, wide = simulated(np.linspace(0.55, 0.95, 8), samples=300, density=0.5, seed=seed)
        votes = Votes.of(wide)
        table = labeler_table(votes, weigh_votes(votes))[["accuracy", "low", "high"]].to_numpy()
        for labeler, (accuracy, low, high) in enumerate(table):
            there = wide[:, labeler] >= 0
            right = float((wide[there, labeler] == true[there]).mean())
            assert abs(accuracy - right) < 0.12
            held.append(low <= right <= high)
    assert np.mean(held) >= 0.9


def test_soft_votes_of_a_model_that_is_sure_when_right_count_as_such():
    true, wide = simulated([0.7, 0.7], classes=2, samples=1000)
    random = np.random.default_rng(1)
    sure = random.uniform(0.5, 1, 1000)
    right = random.random(1000) < sure
    said = np.where(right, true, 1 - true)
    rows = np.where(np.arange(2) == said[:, None], sure[:, None], 1 - sure[:, None])
    soft = Votes.of({"a": wide[:, 0], "b": wide[:, 1], "llm": pd.DataFrame(rows)})
    hard = Votes.of({"a": wide[:, 0], "b": wide[:, 1], "llm": said})
    accuracy = [(weigh_votes(each).posterior.argmax(1).numpy() == true).mean() for each in (soft, hard)]
    known = np.log(rows) + sum(np.where(wide[:, [each]] == np.arange(2), np.log(0.7), np.log(0.3)) for each in (0, 1))
    best = (known.argmax(1) == true).mean()  # with the accuracies that were simulated
    assert accuracy[1] < accuracy[0]
    assert accuracy[0] > best - 0.015


def test_many_labelers_with_many_classes_differ_in_accuracy_only(monkeypatch):
    monkeypatch.setattr("reweigh.issues.labelers.MAX_CONFUSION_CELLS", 10)
    true, wide = simulated([0.9, 0.8, 0.5])
    found = weigh_votes(Votes.of(wide))
    assert found.confusion is None
    assert (found.posterior.argmax(1).numpy() == true).mean() > 0.88
    assert found.said_by(0).sum(0).numpy() == pytest.approx(1)


def test_tables():
    votes = Votes.of(pd.DataFrame({"ann": ["a", "b", "a", None], "bob": ["a", "b", "b", "b"]}, dtype=object))
    posterior = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]])
    found = weigh_votes(votes)._replace(posterior=posterior)
    table = consensus_table(votes, posterior)
    assert table["label"].tolist() == ["a", "b", "a", "b"]
    assert table["votes"].tolist() == [2, 2, 2, 1]
    assert table["agree"].tolist() == [2, 2, 1, 1]
    people = labeler_table(votes, found)
    assert people["accuracy"].tolist() == pytest.approx([(0.9 + 0.8 + 0.7) / 3, (0.9 + 0.8 + 0.3 + 0.6) / 4])
    assert people["agreement"].tolist() == [1, 0.75]
    assert vote_table(votes, found).iloc[0].tolist()[:4] == [2, "bob", "b", "a"]


def test_next_labels_are_those_that_may_change_the_consensus_most():
    votes = Votes.of(pd.DataFrame({"good": [0, 1, 0, -1, 1], "bad": [0, 1, -1, 0, -1]}))
    found = weigh_votes(votes)
    bad = torch.full((2, 2), 0.5)
    good = torch.tensor([[0.9, 0.1], [0.1, 0.9]])
    posterior = torch.tensor([[0.99, 0.01], [0.5, 0.5], [0.6, 0.4], [0.55, 0.45], [0.9, 0.1]])
    found = found._replace(confusion=torch.stack([good, bad]), accuracy=torch.tensor([0.9, 0.5]))
    asked = next_votes(votes, found, posterior, 10)
    assert asked["sample"].tolist()[0] == 3  # both have labeled 0 and 1
    assert asked["labeler"].tolist()[0] == "good"
    assert asked["gain"].tolist()[0] == pytest.approx(0.9 - 0.55, abs=2e-3)
    assert set(asked["sample"]) == {2, 3, 4}
    assert next_votes(votes, found, posterior, 1, {"bad": 1.0})["labeler"].tolist() == ["bad"]
    with pytest.raises(DataError, match="no labeler 'eve'"):
        next_votes(votes, found, posterior, 1, {"eve": 1.0})
    with pytest.raises(DataError, match="not above 0"):
        next_votes(votes, found, posterior, 1, {"bad": 0.0})


def test_a_majority_of_copies_of_a_careless_labeler_is_outvoted_with_a_weak_model():
    random = np.random.default_rng(3)
    true = random.choice(3, 900, p=[0.75, 0.15, 0.1])

    def with_errors(rate, of):
        return np.where(random.random(900) < rate, (of + random.integers(1, 3, 900)) % 3, of)

    careless = with_errors(0.4, true)
    copies = [careless, with_errors(0.05, careless), with_errors(0.05, careless)]
    votes = Votes.of(np.stack([with_errors(0.1, true), *copies, with_errors(0.1, true)], 1))
    predictions = np.where(np.arange(3) == with_errors(0.5, true)[:, None], 0.75, 0.125)
    found = weigh_votes(votes, torch.tensor(predictions).float())
    majority = votes.tally().argmax(1).numpy()
    assert (majority == true).mean() < 0.65
    assert (found.posterior.argmax(1).numpy() == true).mean() > 0.93
    assert (found.dependence > 0).nonzero().tolist() == [[1, 2], [1, 3], [2, 1], [2, 3], [3, 1], [3, 2]]


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_a_careless_labeler_and_an_echo_are_not_taken_for_the_truth_without_a_model(seed):
    random, samples = np.random.default_rng(seed), 1000
    true = random.choice(4, samples, p=[0.7, 0.22, 0.04, 0.04])

    def said(what, wrong):
        return np.where(random.random(samples) < wrong, (what + random.integers(1, 4, samples)) % 4, what)

    labels = {"ann": said(true, 0.1), "eve": said(true, 0.4)}
    labels |= {"echo": said(labels["eve"], 0.1), "bob": said(true, 0.1), "cem": said(true, 0.1)}
    gaps = {name: np.where(random.random(samples) < 0.8, column, -1) for name, column in labels.items()}
    votes, consensus = first_consensus(Votes.of(gaps))
    voted, right = votes.counts.numpy() > 0, torch.from_numpy(true)
    majority = (votes.tally().argmax(1) == right).numpy()[voted].mean()
    assert (consensus == right).numpy()[voted].mean() > majority - 0.03
    assert len(votes.classes) == 4


def test_rules_that_say_one_class_are_believed_although_few_fire_together():
    """Given that it fires, such a rule says its class whatever the true one: a plain confusion explains any classes."""
    rules = [(0, 0.95), (0, 0.8), (0, 0.7), (1, 0.95), (1, 0.85), (1, 0.75)]
    right = []
    for seed in range(4):
        random = np.random.default_rng(seed)
        true = random.integers(2, size=800)
        columns = [
            np.where(random.random(800) < 0.3 * np.where(true == label, accuracy, 1 - accuracy), label, -1)
            for label, accuracy in rules
        ]
        votes = Votes.of(np.stack(columns, 1))
        there = votes.counts.numpy() > 0
        found = weigh_votes(votes)
        majority = (votes.tally().argmax(1).numpy() == true)[there].mean()
        right.append((found.posterior.argmax(1).numpy() == true)[there].mean() - majority)
    assert min(right) > -0.01
    assert np.mean(right) > 0.005


def test_one_vote_per_sample_is_the_consensus_without_a_model_and_not_discounted_with_one():
    true, wide = simulated([0.75, 0.65, 0.9], samples=900)
    random = np.random.default_rng(0)
    votes = Votes.of(np.where(np.arange(3) == random.integers(3, size=(900, 1)), wide, -1))
    assert first_consensus(votes)[1].tolist() == votes.tally().argmax(1).tolist()
    guess = np.where(random.random(900) < 0.8, true, random.integers(3, size=900))
    found = weigh_votes(votes, torch.tensor(np.where(np.arange(3) == guess[:, None], 0.6, 0.2)).float())
    assert found.discount == 1
    assert (found.posterior.argmax(1).numpy() == true).mean() > (votes.tally().argmax(1).numpy() == true).mean()


@pytest.mark.parametrize(("strength", "gain"), [(1.0, 0.0), (6.0, 0.02)])  # right for 20 % and for 97 %
def test_a_model_overrules_single_votes_only_if_they_are_clearly_wrong(strength, gain):
    for seed in range(3):
        true, wide = simulated([0.9, 0.9, 0.9], samples=500, classes=12, seed=seed)
        keeps = np.random.default_rng(seed + 100).integers(3, size=500)
        votes = Votes.of(np.where(np.arange(3) == keeps[:, None], wide, -1))
        random = torch.Generator().manual_seed(seed)
        logits = 1.5 * torch.randn(500, 12, generator=random) + strength * torch.eye(12)[torch.from_numpy(true)]
        own = 0.5 * strength * torch.eye(12)[votes.label]  # a model that has learned these votes
        found = weigh_votes(votes, (logits + own).softmax(1), logits.softmax(1), torch.arange(500))
        by_votes = (votes.label.numpy() == true).mean()
        assert (found.posterior.argmax(1).numpy() == true).mean() > by_votes + gain - 0.006

"""Scores come with the predictions, in batches as in one, and a model that abstains is judged by them."""

import warnings

import pytest
import torch
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, recall_score

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.fit.decision import Decision
from reweigh.fit.scored import Scored, judged_by, metrics, scored
from reweigh.models import build
from reweigh.models.selective import SelectiveModel
from reweigh.selective import area, error_at, risk_coverage

SIZES = torch.tensor([50, 500, 5, 400, 40, 4, 300, 30, 3, 20])


def _data() -> Dataset:
    generator = torch.Generator().manual_seed(0)
    return Dataset(torch.randn(50, 6, generator=generator), torch.arange(50) % 3, ("a", "b", "c"))


def test_a_plain_model_and_a_selective_one(monkeypatch):
    monkeypatch.setattr("reweigh.data.dataset.SAMPLES_AT_ONCE", 7)
    torch.manual_seed(0)
    data, plain = _data(), build("mlp", (6,), 3)
    model = SelectiveModel(plain).train()
    for each in (plain, model):
        logits, scores, _ = scored(each, data)
        assert model.training
        assert model.selection.training
        each.eval()
        with torch.no_grad():
            expected = each(data.inputs)
            selection = model.eval()(data.inputs, heads=True).selection
        torch.testing.assert_close(logits, expected)
        wanted = expected.softmax(1).amax(1) if each is plain else selection.sigmoid()
        torch.testing.assert_close(scores, wanted.double(), rtol=1e-5, atol=1e-6)
        model.train()


def test_a_model_that_abstains_is_judged_by_its_scores_too():
    torch.manual_seed(0)
    data = _data()
    model = SelectiveModel(build("mlp", (6,), 3))
    sizes, device = data.class_sizes, torch.device("cpu")
    logits, scores, _ = scored(model, data)
    found = judged_by({"": data}, sizes, device, abstains=True)(model)
    assert found == metrics(logits, data.labels, sizes, scores)
    assert "error_at_80" in found
    plain = judged_by({"": data}, sizes, device, abstains=False, aim="balanced")(model)
    assert plain == {name: found[name] for name in ("balanced_accuracy", "accuracy", "log_loss")}
    assert next(iter(plain)) == "balanced_accuracy"


def test_a_decision_changes_predictions_and_scores_but_not_those_of_a_selection_head():
    found = Scored(torch.tensor([[0.0, 1.0], [2.0, 0.0]]), torch.tensor([0.1, 0.2], dtype=torch.float64))
    decision = Decision((0.5, 0.5), (0.5, 0.5), (0.5, 0.5), (0.9, 0.1))
    decided = found.decided(decision, selects=False)
    expected = (found.logits.softmax(1) * torch.tensor([0.9, 0.1])).double()
    expected = expected / expected.sum(1, keepdim=True)
    torch.testing.assert_close(decided.probabilities.double(), expected)
    torch.testing.assert_close(decided.scores, expected.amax(1), rtol=1e-6, atol=1e-6)
    assert torch.equal(found.decided(decision, selects=True).scores, found.scores)
    assert found.decided(Decision((0.5, 0.5), (0.5, 0.5), (0.5, 0.5)), selects=False) is found


def sample(classes: int, present: list[int], n: int = 200) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(classes)
    labels = torch.tensor(present)[torch.randint(len(present), (n,), generator=generator)]
    logits = torch.randn(n, classes, generator=generator) + torch.eye(classes)[labels]
    return logits, labels


@pytest.mark.parametrize("sizes", [torch.full((7,), 9), torch.tensor([49, 20, 20, 10, 10, 10, 10])])
@pytest.mark.parametrize("present", [[0, 1, 2, 3, 4, 5, 6], [1, 4, 5]])
def test_accuracies_against_sklearn(present, sizes):
    logits, labels = sample(7, present)
    predicted = logits.argmax(1)
    numbers = metrics(logits, labels, sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predictions of classes that the test lacks
        balanced = balanced_accuracy_score(labels, predicted)
    assert list(numbers) == ["accuracy", "balanced_accuracy", "log_loss"]
    every = list(range(7))
    assert numbers["log_loss"] == pytest.approx(log_loss(labels, logits.double().softmax(1), labels=every))
    assert numbers["accuracy"] == pytest.approx(accuracy_score(labels, predicted))
    assert numbers["balanced_accuracy"] == pytest.approx(balanced)


def test_head_middle_and_tail_by_size_in_training():
    logits, labels = sample(10, list(range(10)), 500)
    numbers = metrics(logits, labels, SIZES)
    for group, classes in {"head": [1, 3, 6], "middle": [0, 4, 7, 9], "tail": [2, 5, 8]}.items():
        expected = recall_score(labels.numpy(), logits.argmax(1).numpy(), labels=classes, average="macro")
        assert numbers[f"{group}_accuracy"] == pytest.approx(expected)
    assert next(iter(numbers)) == "accuracy"


@pytest.mark.parametrize(("sizes", "tail"), [([50, 10], True), ([49, 10], False), ([9, 0], True)])
def test_a_tail_begins_where_the_largest_class_has_five_times_the_samples_of_the_smallest(sizes, tail):
    logits, labels = sample(2, [0, 1])
    assert ("tail_accuracy" in metrics(logits, labels, torch.tensor(sizes))) == tail


def test_groups_that_do_not_exist_are_left_out():
    logits, labels = sample(2, [0])
    assert set(metrics(logits, labels, torch.tensor([90, 1]))) == {
        "accuracy", "balanced_accuracy", "log_loss", "head_accuracy", "medium_shot_accuracy"
    }  # fmt: skip


def test_errors_of_the_surest_samples_if_scores_are_given():
    logits, labels = sample(3, [0, 1, 2])
    scores = torch.rand(200, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    numbers = metrics(logits, labels, torch.ones(3), scores)
    curve = risk_coverage(scores, logits.argmax(1) != labels)
    assert {f"error_at_{level}": error_at(curve, level / 100) for level in range(70, 101, 5)}.items() <= numbers.items()
    assert numbers["risk_coverage_area"] == area(curve)
    assert numbers["error_at_100"] == pytest.approx(1 - numbers["accuracy"])
    assert all(type(value) is float for value in numbers.values())


def test_empty_test_set():
    with pytest.raises(DataError, match="empty"):
        metrics(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64), torch.ones(3))


def test_many_medium_and_few_shots_and_the_five_likeliest():
    logits, labels = sample(12, list(range(12)), n=400)
    sizes = torch.tensor([101, 100, 20, 19, 500, 50, 5, 200, 30, 3, 101, 19])
    numbers = metrics(logits, labels, sizes)
    groups = {"many": [0, 4, 7, 10], "medium": [1, 2, 5, 8], "few": [3, 6, 9, 11]}
    predicted = logits.argmax(1)
    for name, classes in groups.items():
        each = [float((predicted[labels == number] == number).double().mean()) for number in classes]
        assert numbers[f"{name}_shot_accuracy"] == pytest.approx(sum(each) / 4)
    five = [label in row.argsort(descending=True)[:5] for row, label in zip(logits, labels, strict=True)]
    assert numbers["top5_accuracy"] == pytest.approx(sum(five) / 400)
    assert "top5_accuracy" not in metrics(logits[:, :10], labels.clamp_max(9), sizes[:10])

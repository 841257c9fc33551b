"""The stock against slow loops, and a case in which the confusion is known."""

from itertools import product

import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import average_precision_score

from reweigh.issues.stock import (
    anchored_joint,
    confident_joint,
    credibility,
    expected_shares,
    is_even,
    learned_joint,
    take_stock,
    take_stock_unseen,
)
from reweigh.issues.verdict import in_line_with, least_believed


def drawn(n=300, classes=3, seed=0):
    """Predictions and given labels as rows."""
    generator = torch.Generator().manual_seed(seed)
    predictions = (2 * torch.randn(n, classes, generator=generator)).softmax(1)
    labels = torch.multinomial(predictions, 1, generator=generator).squeeze(1)
    return predictions, labels


def slow_joint(predictions, labels, classes):
    means = [predictions[labels == c][:, c].mean().item() for c in range(classes)]
    joint = [[0.0] * classes for _ in range(classes)]
    for row, label in zip(predictions.tolist(), labels.tolist(), strict=True):
        sure = [c for c in range(classes) if row[c] >= means[c]]
        if sure:
            joint[label][max(sure, key=lambda c: row[c])] += 1
    right, all_ = sum(joint[c][c] for c in range(classes)), sum(map(sum, joint))
    wrong = 1 - (right + 1) / (all_ + 1)
    for given, true in product(range(classes), repeat=2):
        joint[given][true] += 4 * (1 - wrong if given == true else wrong / (classes - 1))
    sizes = torch.bincount(labels, minlength=classes).tolist()
    return [[value / sum(row) * size for value in row] for row, size in zip(joint, sizes, strict=True)]


def test_the_confident_joint_by_a_loop():
    predictions, labels = drawn()
    joint = confident_joint(predictions, F.one_hot(labels, 3).float())
    torch.testing.assert_close(joint, torch.tensor(slow_joint(predictions, labels, 3)))
    torch.testing.assert_close(joint.sum(1), torch.bincount(labels).float())


@pytest.mark.parametrize("at_once", [7, 10_000])
def test_the_posterior_by_a_loop(monkeypatch, at_once):
    monkeypatch.setattr("reweigh.issues.stock.CACHED", at_once)
    predictions, labels = drawn()
    stock = take_stock(predictions, F.one_hot(labels, 3).float())
    for i in (0, 17, 99):
        row = [
            predictions[i, k] ** (1 / stock.temperature) * stock.prior[k] * stock.transition[labels[i], k]
            for k in range(3)
        ]
        torch.testing.assert_close(stock.posterior[i], torch.stack(row) / sum(row), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(stock.transition.sum(0), torch.ones(3))


def known_case(sharp=6.0, n=6000):
    """Samples whose true class is nearly certain, and labels that were changed by a known confusion."""
    transition = torch.tensor([[0.9, 0.3, 0.0], [0.0, 0.6, 0.1], [0.1, 0.1, 0.9]])
    generator = torch.Generator().manual_seed(0)
    true = torch.multinomial(torch.tensor([0.5, 0.3, 0.2]), n, True, generator=generator)
    labels = torch.multinomial(transition.T[true], 1, generator=generator).squeeze(1)
    logits = sharp * F.one_hot(true, 3) + torch.randn(n, 3, generator=generator)
    return logits, true, labels, transition


def test_a_known_confusion_is_recovered():
    logits, true, labels, transition = known_case()
    given = F.one_hot(labels, 3).float()
    stock = take_stock(logits.softmax(1), given)
    torch.testing.assert_close(stock.transition, transition, atol=0.03, rtol=0)
    torch.testing.assert_close(stock.prior, torch.tensor([0.5, 0.3, 0.2]), atol=0.02, rtol=0)
    assert float((stock.posterior.argmax(1) == true).float().mean()) > 0.97
    wrong = 1 - stock.joint.diag() / stock.joint.sum(1)
    truth = [float((true[labels == c] != c).float().mean()) for c in range(3)]
    assert wrong.tolist() == pytest.approx(truth, abs=0.03)


def test_modest_predictions_are_sharpened():
    logits, true, labels, _ = known_case()
    modest = (logits / 5).softmax(1)
    stock = take_stock(modest, F.one_hot(labels, 3).float())
    assert stock.temperature <= 0.4
    assert float((stock.posterior.argmax(1) == true).float().mean()) > 0.95


def test_soft_labels_count_for_each_of_their_classes():
    predictions, labels = drawn()
    given = F.one_hot(labels, 3).float()
    twice = torch.cat([given, given.roll(1, 0)])  # a label of two halves is as good as two half samples
    soft = confident_joint(predictions, (given + given.roll(1, 0)) / 2)
    whole = confident_joint(torch.cat([predictions, predictions]), twice)
    sizes = given.sum(0)
    assert soft.sum(1).tolist() == pytest.approx(sizes.tolist(), rel=1e-4)
    assert (2 * soft - whole).abs().max() < 5  # the added right sample weighs twice as much


def test_the_rounds_by_a_loop() -> None:
    predictions, labels = drawn(n=400)
    kept = (labels < 2) | (torch.arange(400) % 12 == 0)
    predictions, labels = predictions[kept], labels[kept]
    given = F.one_hot(labels, 3).float()
    joint = anchored_joint(predictions, given, given.mean(0)).tolist()
    for number in range(6):
        wrong = 1 - (sum(joint[c][c] for c in range(3)) + 1) / (sum(map(sum, joint)) + 1)
        for label, true in product(range(3), repeat=2):
            joint[label][true] += 10 * (1 - wrong if label == true else wrong / 2)
        if number == 5:
            break
        stock = take_stock(predictions, given, torch.tensor(joint))
        joint = [[0.0] * 3 for _ in range(3)]
        for row, label in zip(stock.posterior.tolist(), labels.tolist(), strict=True):
            for true in range(3):
                joint[label][true] += row[true]
    found = learned_joint(predictions, given, given.mean(0))
    expected = torch.tensor([[each / sum(row) for each in row] for row in joint]) * given.sum(0)[:, None]
    torch.testing.assert_close(found, expected)


def test_only_sizes_that_differ_much_are_taken_for_those_of_the_true_classes() -> None:
    def shares(*sizes: int) -> list[float]:
        labels = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
        given = F.one_hot(labels, len(sizes)).float()
        return expected_shares(0.9 * given + 0.1 / len(sizes), given).tolist()

    assert shares(40, 160) == pytest.approx([0.5, 0.5])
    assert shares(10, 190) == pytest.approx([0.05, 0.95])
    assert shares(10, 190, 0) == pytest.approx([0.05, 0.95, 0.0])
    predictions, labels = drawn()
    given = F.one_hot(labels, 3).float()
    assert is_even(expected_shares(predictions, given))
    torch.testing.assert_close(take_stock_unseen(predictions, given).joint, confident_joint(predictions, given))


def test_a_class_that_wrong_labels_made_small_is_not_rare() -> None:
    """Three quarters of one of two equal classes are given as the other, which a network that learned it predicts."""
    rng = torch.Generator().manual_seed(0)
    true = torch.arange(4000) % 2
    labels = torch.where((true == 1) & (torch.rand(4000, generator=rng) < 0.75), 0, true)
    assert float((labels == 1).float().mean()) < 1 / 7
    shares = torch.tensor([0.875, 0.125])
    learned = torch.where(true == 1, 0.25, 0.001)
    balanced = torch.stack([1 - learned, learned], 1) / shares
    predictions = (balanced.log() + 0.3 * torch.randn(4000, 2, generator=rng)).softmax(1)
    assert is_even(expected_shares(predictions, F.one_hot(labels, 2).float()))


def test_errors_in_a_frequent_class_are_not_a_rare_class() -> None:
    """Two classes of 97 and 3 %, all labels right, and a calibrated prediction that cannot tell all of them apart."""
    rng = torch.Generator().manual_seed(0)
    true = (torch.rand(8000, generator=rng) < 0.03).long()
    logits = torch.randn(8000, generator=rng) + 2.0 * (2 * true - 1)  # log-odds of the classes are 4 times these
    predictions = torch.stack([-2 * logits, 2 * logits], 1).softmax(1)
    given = F.one_hot(true, 2).float()
    assert float(1 - (joint := take_stock_unseen(predictions, given).joint).trace() / joint.sum()) < 0.002
    flipped = F.one_hot(torch.where(torch.rand(8000, generator=rng) < 0.1, 1 - true, true), 2).float()
    stock = take_stock_unseen(predictions, flipped)
    torch.testing.assert_close(stock.transition, torch.tensor([[0.9, 0.1], [0.1, 0.9]]), atol=0.05, rtol=0)
    assert stock.prior.tolist() == pytest.approx([0.97, 0.03], abs=0.01)


def test_a_confusion_that_was_not_seen_is_possible() -> None:
    predictions = torch.tensor([[0.9, 0.05, 0.05]] * 5 + [[0.05, 0.9, 0.05]] * 5 + [[0.05, 0.05, 0.9]] * 5)
    labels = torch.tensor([0] * 4 + [1] + [1] * 5 + [2] * 5)  # one of class 0 is given as 1
    joint = confident_joint(predictions, F.one_hot(labels, 3).float())
    assert float(joint[2, 0]) > 0
    assert float(joint[1, 0]) > 3 * float(joint[2, 0])


def test_anchors_stand_for_their_class() -> None:
    rng = torch.Generator().manual_seed(3)
    predictions = torch.randn(1600, 3, generator=rng).softmax(1)
    given = F.one_hot(torch.randint(3, (1600,), generator=rng), 3).float()
    prior = torch.tensor([0.5, 0.3, 0.2])
    joint = anchored_joint(predictions, given, prior)
    predictions = predictions * prior / (predictions * prior).sum(1, keepdim=True)
    for true in range(3):
        predicted = int((predictions.argmax(1) == true).sum())
        number = int(max(0.1 * predicted, min(30, predicted / 2)))
        surest = sorted(range(1600), key=lambda row: -float(predictions[row, true]))[:number]
        for label in range(3):
            seen = sum(float(given[row, label]) for row in surest) / len(surest)
            assert float(joint[label, true]) == pytest.approx(seen * predicted)


def test_few_samples_are_all_anchors() -> None:
    predictions, given = torch.eye(3).softmax(1), torch.eye(3)
    assert anchored_joint(predictions, given, torch.ones(3) / 3).tolist() == [pytest.approx([1 / 3] * 3)] * 3


@pytest.mark.parametrize("share", [0.1, 0.2, 0.9])
def test_as_many_labels_are_doubted_as_are_wrong(share: float) -> None:
    quality = torch.tensor([0.0, 0.02, 0.9, 0.95, 0.999, 0.9999, 1.0, 1.0])
    shifted = in_line_with(share, quality)
    assert float((1 - shifted).mean()) == pytest.approx(share, rel=1e-3)
    assert bool((shifted.diff() >= 0).all())


def test_the_order_stays_if_no_label_is_wrong() -> None:
    shifted = in_line_with(0.0, torch.tensor([0.1, 0.5, 0.9, 0.99]))
    assert shifted.tolist() == sorted(set(shifted.tolist()))
    assert float((1 - shifted).mean()) == pytest.approx(0.125, rel=1e-3)  # half a sample
    assert in_line_with(1.0, torch.tensor([0.2, 0.5])).isfinite().all()


def test_the_labels_that_are_believed_least_look_wrong() -> None:
    believed = torch.tensor([0.9, 0.2, 0.6, 0.3])
    posterior = torch.tensor([[0.9, 0.1, 0.0], [0.5, 0.2, 0.3], [0.4, 0.0, 0.6], [0.3, 0.4, 0.3]])
    suggested, quality, wrong = least_believed(believed, posterior, torch.tensor([0, 1, 2, 0]), 0.5)
    assert wrong.tolist() == [False, True, False, True]
    assert suggested.tolist() == [0, 0, 2, 1]
    assert quality.argsort().tolist() == [1, 3, 2, 0]
    assert float((1 - quality).mean()) == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("rare", [False, True])
def test_credibility_by_a_loop(rare: bool) -> None:
    predictions, labels = drawn()
    sizes = torch.tensor([100.0, 10.0, 100.0]) if rare else torch.full((3,), 100.0)
    joint = torch.tensor([[0.8, 0.1, 0.1], [0.2, 0.9, 0.0], [0.0, 0.0, 0.9]]) * sizes
    stock = take_stock(predictions, F.one_hot(labels, 3).float(), joint)
    assert stock.temperature != 1
    found = credibility(predictions, F.one_hot(labels, 3).float(), stock)
    for row, label, theirs in zip(predictions.tolist(), labels.tolist(), found.tolist(), strict=True):
        products = []
        for true in range(3):
            right = float(stock.transition[true, true])
            evenly = right if label == true else (1 - right) / 2
            known = row[true] ** (1 / stock.temperature if rare else 1) * float(stock.prior[true])
            products.append(known * (float(stock.transition[label, true]) + evenly))
        assert theirs == pytest.approx([each / sum(products) for each in products], abs=1e-5)


def ranked(way: bool) -> torch.Tensor:
    """Average precision of credibility and of the posterior, mean of six draws: six classes overlap in pairs, and a
    fifth of the labels is wrong, in any direction or from each class to the next."""
    found = []
    for seed in range(6):
        generator = torch.Generator().manual_seed(seed)
        centers = torch.tensor([[0.7 * (number % 2), 2.0 * (number // 2)] for number in range(6)])
        true = torch.randint(6, (800,), generator=generator)
        points = centers[true] + torch.randn(800, 2, generator=generator)
        predictions = (-torch.cdist(points, centers).square() / 2).softmax(1)
        other = (true + (1 if way else torch.randint(1, 6, (800,), generator=generator))) % 6
        wrong = torch.rand(800, generator=generator) < 0.2
        given = F.one_hot(other.where(wrong, true), 6).float()
        stock = take_stock(predictions, given)
        both = credibility(predictions, given, stock), stock.posterior
        found.append([average_precision_score(wrong, -(given * each).sum(1)) for each in both])
    return torch.tensor(found).mean(0)


def test_more_of_the_labels_that_are_wrong_in_any_direction_are_found_where_classes_overlap() -> None:
    credible, posterior = ranked(way=False)
    assert credible > posterior + 0.003


def test_labels_that_are_wrong_in_one_direction_are_found_as_well() -> None:
    credible, posterior = ranked(way=True)
    assert credible > posterior - 0.01

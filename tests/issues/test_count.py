"""Counting wrong labels on predictions that are known exactly, and the sentence about it."""

import pytest
import torch
import torch.nn.functional as F

from reweigh.issues.count import Count, count_wrong, direction, sentence
from reweigh.issues.stock import confident_joint, take_stock, with_prior

NAMES = ("cat", "dog", "owl")


def noisy(rate: float = 0.2):
    """Given labels, and predictions that are sure of the true class."""
    true = torch.arange(600) % 3
    given = true.clone()
    flipped = torch.rand(600, generator=torch.Generator().manual_seed(0)) < rate
    given[flipped] = (true[flipped] + 1) % 3
    return F.one_hot(given, 3).float(), 0.9 * F.one_hot(true, 3).float() + 0.1 / 3, given != true


def count_of(predictions, given, weak=False) -> Count:
    """Wrong labels as counted by predictions of all samples, without and with their labels."""
    stock, prior = take_stock(predictions, given), given.mean(0)
    own = confident_joint(with_prior(predictions, prior), given)
    latest = predictions.clamp_min(1e-6).log()
    return count_wrong(stock, own, prior, given, predictions, torch.arange(len(given)), latest, weak)


def counted(rate: float):
    given, predictions, wrong = noisy(rate)
    return count_of(predictions, given), given, take_stock(predictions, given), wrong


def test_estimate_and_limits() -> None:
    count, given, _, wrong = counted(0.2)
    share, low, high = count.in_all(given)
    truth = float(wrong.float().mean())
    assert share == pytest.approx(truth, rel=0.1)
    assert low <= share <= high
    for label in range(3):
        own = given[:, label] == 1
        assert float(count.share[label]) == pytest.approx(float(wrong[own].float().mean()), abs=0.05)
    assert bool((count.low <= count.share).all())
    assert bool((count.share <= count.high).all())


def test_a_class_without_samples_has_no_wrong_labels() -> None:
    given, predictions, _ = noisy()
    given, predictions = F.pad(given, (0, 1)), F.pad(predictions, (0, 1))
    count = count_of(predictions, given)
    assert [float(each[3]) for each in count] == [0, 0, 0]


def test_labels_that_were_corrected_are_counted_no_more() -> None:
    before, predictions, wrong = noisy()
    corrected = wrong & (torch.arange(600) < 300)
    after = torch.where(corrected[:, None], F.one_hot(torch.arange(600) % 3, 3).float(), before)
    count = count_of(predictions, before)
    left = count.after(before, after)
    for label in range(3):
        own = after[:, label] == 1
        truth = float((wrong & ~corrected)[own].float().mean())
        assert float(left.share[label]) == pytest.approx(truth, abs=0.05)
        assert abs(float(count.share[label]) - truth) > 0.06
    for each, same in zip(count.after(before, before), count, strict=True):
        torch.testing.assert_close(each, same)


def test_errors_of_a_weak_network_are_not_wrong_labels() -> None:
    rng = torch.Generator().manual_seed(0)
    rows = (2.0 * torch.randn(3000, 3, generator=rng)).softmax(1)  # calibrated, and often unsure
    given = F.one_hot(rows.multinomial(1, generator=rng).squeeze(1), 3).float()  # so these are right, by definition
    few, many = (count_of(rows, given, weak).in_all(given)[0] for weak in (True, False))
    assert few < 0.02
    assert many > 0.05


def test_the_sentence() -> None:
    count, given, stock, _ = counted(0.2)
    words = sentence(count, given, stock.joint, NAMES, (0.012, 0.004), dropped=False)
    assert words.startswith("About 2")
    assert "mostly one way: " in words  # every class becomes the next one
    assert "cat given as dog" in words
    assert words.endswith(
        "on the corrected labels changed balanced accuracy on held-out given labels by +1.2 ± 0.4 points."
    )
    worse = sentence(count, given, stock.joint, NAMES, (-0.03, 0.01), dropped=True)
    assert worse.endswith("by -3.0 ± 1.0 points, so the first model is kept.")
    assert "Too few epochs or samples" in sentence(count, given, stock.joint, NAMES, None, dropped=False)


def test_the_sentence_tells_of_overlapping_classes() -> None:
    rng = torch.Generator().manual_seed(0)
    rows = (2.0 * torch.randn(3000, 3, generator=rng)).softmax(1)
    given = F.one_hot(rows.multinomial(1, generator=rng).squeeze(1), 3).float()  # right, but often not the likeliest
    overlapping = sentence(count_of(rows, given, weak=False), given, torch.eye(3), NAMES, None, dropped=False)
    assert ", in no particular direction; fewer if classes overlap." in overlapping
    count, given, stock, _ = counted(0.2)
    assert "overlap" not in sentence(count, given, stock.joint, NAMES, None, dropped=False)


def test_where_labels_are_right() -> None:
    count, given, stock, _ = counted(0.0)
    words = sentence(count, given, stock.joint, NAMES, (0.0, 0.01), dropped=False)
    assert words.startswith("Hardly any labels look wrong (about 0%, 0% to 0%).")
    few = Count(torch.full((3,), 0.0031), torch.full((3,), 0.0), torch.full((3,), 0.051))
    words = sentence(few, given, stock.joint, NAMES, (0.0, 0.01), dropped=False)
    assert words.startswith(
        "Hardly any labels look wrong (about 0.3%, 0% to 5%). Training again changed balanced accuracy"
    )


def test_directions() -> None:
    both = torch.tensor([[80.0, 20, 0], [19, 80, 1], [0, 1, 90]])
    assert direction(both, NAMES) == "in no particular direction"
    one = torch.tensor([[80.0, 40, 0], [2, 60, 1], [0, 1, 90]])
    assert direction(one, NAMES) == "mostly one way: dog given as cat"
    few = torch.tensor([[20.0, 5, 0], [1, 20, 0], [0, 0, 20]])  # six wrong labels are too few to say
    assert direction(few, NAMES) == "in no particular direction"


def test_totals_count_samples() -> None:
    count = Count(torch.tensor([0.5, 0.0]), torch.tensor([0.4, 0.0]), torch.tensor([0.6, 0.2]))
    given = F.one_hot(torch.tensor([0, 0, 0, 1])).float()
    assert count.in_all(given) == pytest.approx((0.375, 0.3, 0.5))

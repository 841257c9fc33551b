"""Counting wrong labels on predictions that are known exactly, and the sentence about it."""

import pytest
import torch
import torch.nn.functional as F

from reweigh.issues.count import HABIT, Count, EqualInputs, claim, count_wrong, direction, done
from reweigh.issues.remaining import Remaining
from reweigh.issues.stock import confident_joint, take_stock, with_prior

NAMES = ("cat", "dog", "owl")


def noisy(rate: float = 0.2):
    """Given labels, and predictions that are sure of the true class."""
    true = torch.arange(600) % 3
    given = true.clone()
    flipped = torch.rand(600, generator=torch.Generator().manual_seed(0)) < rate
    given[flipped] = (true[flipped] + 1) % 3
    return F.one_hot(given, 3).float(), 0.9 * F.one_hot(true, 3).float() + 0.1 / 3, given != true


def count_of(predictions, given, weak=False, equal=None) -> Count:
    """Wrong labels as counted by predictions of all samples, without and with their labels."""
    stock, prior = take_stock(predictions, given), given.mean(0)
    own = confident_joint(with_prior(predictions, prior), given)
    latest = predictions.clamp_min(1e-6).log()
    return count_wrong(stock, own, prior, given, predictions, torch.arange(len(given)), latest, weak, equal)


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
    assert [float(each[3]) for each in count[:3]] == [0, 0, 0]


def test_labels_that_were_corrected_are_counted_no_more() -> None:
    before, predictions, wrong = noisy()
    corrected = wrong & (torch.arange(600) < 300)
    after = torch.where(corrected[:, None], F.one_hot(torch.arange(600) % 3, 3).float(), before)
    count, truth = count_of(predictions, before), int((wrong & ~corrected).sum())
    left = count.after(Remaining(truth, truth - 8.0, truth + 9.0), before, after)
    share, low, high = (each * 600 for each in left.in_all(after))
    assert share == pytest.approx(truth, rel=0.01)
    assert low <= truth - 8.0 + 0.1
    assert high == pytest.approx(truth + 9.0, rel=0.01)
    for label in range(3):
        own = after[:, label] == 1
        assert float(left.share[label]) == pytest.approx(float((wrong & ~corrected)[own].float().mean()), abs=0.06)


def test_errors_of_a_weak_network_are_not_wrong_labels() -> None:
    rng = torch.Generator().manual_seed(0)
    rows = (2.0 * torch.randn(3000, 3, generator=rng)).softmax(1)  # calibrated, and often unsure
    given = F.one_hot(rows.multinomial(1, generator=rng).squeeze(1), 3).float()  # so these are right, by definition
    few, many = (count_of(rows, given, weak).in_all(given)[0] for weak in (True, False))
    assert few < 0.02
    assert many > 0.05


def test_the_sentence() -> None:
    count, given, stock, wrong = counted(0.2)
    assert count.at_random
    words = claim(count, given, stock.joint, NAMES)
    assert words.startswith("About 2")
    assert ", if which ones does not depend on the input and classes do not overlap), mostly " in words
    assert "cat given as dog" in words  # every class becomes the next one
    assert done(count, (0.012, 0.004), dropped=False) == "The model was trained again on corrected labels."
    assert "lowered accuracy on held-out labels by 3.0 ± 1.0 points" in done(count, (-0.03, 0.01), dropped=True)
    assert "Too few epochs or samples" in done(count, None, dropped=False)
    _, low, high = count.in_all(given)
    assert low < float(wrong.float().mean()) < high < low + 0.12


def overlapping(seed: int = 0):
    """Predictions that are calibrated and often unsure, and labels drawn from them: right, by definition."""
    rng = torch.Generator().manual_seed(seed)
    rows = (2.0 * torch.randn(3000, 3, generator=rng)).softmax(1)
    return rows, F.one_hot(rows.multinomial(1, generator=rng).squeeze(1), 3).float()


def test_where_classes_may_overlap_nothing_is_claimed() -> None:
    rows, given = overlapping()
    count = count_of(rows, given)
    disagree = float((rows.argmax(1) != given.argmax(1)).float().mean())
    assert not count.at_random
    assert count.disagree == pytest.approx(disagree, abs=0.001)
    _, low, high = count.in_all(given)
    assert low == 0
    assert high > disagree / (1 - HABIT)
    words = claim(count, given, torch.eye(3), NAMES)
    assert words.startswith(f"The model disagrees with {disagree:.0%} of the held-out labels. Between 0% and ")
    assert "one label per sample cannot tell more. An audit of 100 labels can: reweigh audit RUN" in words
    between = torch.tensor([[90.0, 30, 0], [30, 80, 1], [0, 1, 99]])
    words = claim(count._replace(predicted=between), given, torch.eye(3), NAMES)
    assert "of the held-out labels, mostly between cat and dog (60). Between 0% and " in words


def test_labels_that_are_wrong_where_they_are_hard_are_within_the_limits() -> None:
    """People err where a model is unsure, and the model repeats some of their errors."""
    rng = torch.Generator().manual_seed(1)
    hard = torch.rand(4000, generator=rng) < 0.5
    true = torch.arange(4000) % 3
    wrong = hard & (torch.rand(4000, generator=rng) < 0.5)
    given = torch.where(wrong, (true + 1) % 3, true)
    repeats = wrong & (torch.rand(4000, generator=rng) < 0.4)
    likely = F.one_hot(torch.where(repeats, given, true), 3).float()
    rows = torch.where(hard[:, None], 0.6 * likely + 0.4 / 3, 0.97 * likely + 0.01)
    count = count_of(rows, F.one_hot(given, 3).float())
    share, low, high = count.in_all(F.one_hot(given, 3).float())
    truth = float(wrong.float().mean())
    assert share < 0.8 * truth
    assert low <= truth <= high


def test_a_weak_network_claims_nothing_if_most_conflicts_are_its_own() -> None:
    rng = torch.Generator().manual_seed(3)
    given, predictions, _ = noisy()
    likely, unsure = predictions.argmax(1), torch.rand(len(given), generator=rng) < 0.3
    shifted = F.one_hot((likely + (torch.rand(len(given), generator=rng) < 0.5)) % given.shape[1], given.shape[1])
    rows = torch.where(unsure[:, None], 0.3 * shifted + 0.7 / given.shape[1], predictions)
    assert count_of(rows, given).at_random
    assert not count_of(rows, given, weak=True).at_random


def test_labels_of_some_classes_only_may_be_wrong_at_random() -> None:
    """A model is surest of the classes whose labels are right, which says nothing about the others."""
    rng = torch.Generator().manual_seed(2)
    true = torch.arange(4000) % 4
    wrong = (true >= 2) & (torch.rand(4000, generator=rng) < 0.3)
    given = torch.where(wrong, 5 - true, true)
    sure = torch.where(true >= 2, 0.7, 0.95) - 0.1 * torch.rand(4000, generator=rng)
    rows = F.one_hot(true, 4) * sure[:, None]
    rows += (1 - rows.sum(1, keepdim=True)) / 3 * (1 - F.one_hot(true, 4))
    count = count_of(rows, F.one_hot(given, 4).float())
    assert count.at_random
    _, low, high = count.in_all(F.one_hot(given, 4).float())
    assert 0.1 < low <= float(wrong.float().mean()) <= high < 0.2


def test_where_labels_are_right() -> None:
    count, given, stock, _ = counted(0.0)
    assert claim(count, given, stock.joint, NAMES) == (
        "Hardly any labels look wrong (0% to 0.3%, if the model repeats at most 59% of the wrong ones)."
    )
    assert done(count, (0.0, 0.01), dropped=False) == "The labels were used as they are."


def test_shares_of_classes_agree_with_the_doubt_in_each_label() -> None:
    count, given, _, wrong = counted(0.2)
    quality = torch.where(wrong, 0.1, 0.98)
    found = count.by_class(1 - quality, given)
    for label in range(3):
        own = given[:, label] == 1
        assert float(found.share[label]) == pytest.approx(float((1 - quality)[own].mean()))
        assert found.low[label] <= found.share[label] <= found.high[label]
    assert found.in_all(given)[0] == pytest.approx(float((1 - quality).mean()))


def test_a_small_class_borrows_its_limits() -> None:
    given, predictions, _ = noisy()
    rare = F.one_hot(torch.full((4,), 3), 4).float()
    given, predictions = torch.cat([F.pad(given, (0, 1)), rare]), torch.cat([F.pad(predictions, (0, 1)), rare])
    count = count_of(predictions, given)
    assert float(count.high[3]) > 0.05  # four labels that are predicted do not prove that the class is right


def test_directions() -> None:
    names = ["cat", "dog", "owl", "car", "bus"]
    even = torch.full((5, 5), 8.0).fill_diagonal_(100)
    assert direction(even, names) == "in no particular direction"
    both = even.clone()
    both[0, 1], both[1, 0], both[3, 4], both[4, 3] = 70, 65, 40, 44
    assert direction(both, names) == "mostly between cat and dog (135), car and bus (84)"
    both[0, 1], both[1, 0] = 200, 200  # alone more than half, but the next pair is worth its name
    both[3, 4], both[4, 3] = 130, 120
    assert direction(both, names) == "mostly between cat and dog (400), car and bus (250)"
    one = torch.tensor([[80.0, 40, 0], [2, 60, 1], [0, 1, 90]])
    assert direction(one, NAMES) == "mostly dog given as cat (40)"
    few = torch.tensor([[20.0, 3, 0], [1, 20, 0], [0, 0, 20]])  # four wrong labels are too few to say
    assert direction(few, NAMES) == "in no particular direction"
    assert direction(torch.tensor([[90.0, 12], [10, 90]]), NAMES[:2]) == "in no particular direction"


def test_totals_count_samples() -> None:
    count = Count(torch.tensor([0.5, 0.0]), torch.tensor([0.4, 0.0]), torch.tensor([0.6, 0.2]))
    given = F.one_hot(torch.tensor([0, 0, 0, 1])).float()
    assert count.in_all(given) == pytest.approx((0.375, 0.3, 0.5))


def test_labels_of_copies_that_differ_are_wrong() -> None:
    given, _, _ = noisy(0.0)
    groups = torch.arange(600)
    groups[::30] = 0  # 20 copies of one sample of class 0
    given[0:300:30] = F.one_hot(torch.tensor(1), 3).float()  # ten labels, or the ten others, are wrong
    equal = EqualInputs(groups, copied=True)
    assert equal.contradicted(given) == (10, 20)
    agreed = F.one_hot(given.argmax(1), 3) * 0.9 + 0.1 / 3  # by a model that has learned them
    _, low, high = count_of(agreed, given, equal=equal).in_all(given)
    assert low == pytest.approx(10 / 600, rel=0.01)
    assert high >= low
    assert count_of(agreed, given).in_all(given)[1] == 0
    words = claim(count_of(agreed, given, equal=equal), given, torch.eye(3), NAMES)
    assert "10 labels contradict most labels of copies of the same sample: wrong, unless" in words


def test_equal_rows_show_that_classes_overlap() -> None:
    """Labels are wrong at random by all appearance, but equal rows contradict each other more often."""
    given, predictions, _ = noisy(0.2)
    assert count_of(predictions, given).at_random
    shuffled = EqualInputs(torch.arange(600) % 20, copied=False)  # inputs that say nothing about the class
    found = count_of(predictions, given, equal=shuffled)
    assert not found.at_random
    assert found.in_all(given)[1] == 0
    few = EqualInputs(torch.cat([torch.arange(596), torch.zeros(4, dtype=torch.int64)]), copied=False)
    assert count_of(predictions, given, equal=few).at_random  # too few to say


def test_no_estimate_is_claimed_by_a_model_at_chance() -> None:
    """Labels drawn at random: sure and unsure predictions are contradicted alike, since the model knows nothing."""
    rng = torch.Generator().manual_seed(0)
    given = F.one_hot(torch.randint(3, (300,), generator=rng), 3).float()
    learned = 0.9 * given + 0.1 / 3  # by models that saw the label
    unseen = torch.randn(300, 3, generator=rng).softmax(1)
    stock, prior = take_stock(learned, given), given.mean(0)
    own = confident_joint(with_prior(learned, prior), given)
    count = count_wrong(stock, own, prior, given, unseen, torch.arange(300), learned.log(), weak=False)
    assert not count.at_random
    assert count.in_all(given)[2] > 0.6


def test_upper_limits_of_classes_add_up_to_that_of_all() -> None:
    given, predictions, _ = noisy(0.0)
    worst = given[:, 0] == 1  # a model that contradicts half of one class
    predictions[worst & (torch.arange(600) % 2 == 0)] = torch.tensor([0.1, 0.8, 0.1])
    count = count_of(predictions, given, weak=True)
    assert not count.at_random
    assert count.in_all(given)[2] >= min(count.disagree / (1 - HABIT), 1)
    assert float(count.high.max()) <= 1

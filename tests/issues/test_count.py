"""Counting wrong labels on predictions that are known exactly, and the sentence about it."""

import pytest
import torch
import torch.nn.functional as F

from reweigh.issues.count import HABIT, Count, EqualInputs, claim, count_wrong, direction, done

NAMES = ("cat", "dog", "owl")


def noisy(rate: float = 0.2):
    """Given labels, and predictions that are sure of the true class."""
    true = torch.arange(600) % 3
    given = true.clone()
    flipped = torch.rand(600, generator=torch.Generator().manual_seed(0)) < rate
    given[flipped] = (true[flipped] + 1) % 3
    return F.one_hot(given, 3).float(), 0.9 * F.one_hot(true, 3).float() + 0.1 / 3, given != true


def count_of(predictions, given, equal=None) -> Count:
    """Wrong labels as counted by predictions of all samples, made without their labels."""
    return count_wrong(given, predictions, torch.arange(len(given)), given.mean(0), equal=equal)


def test_estimate_and_limits() -> None:
    given, predictions, wrong = noisy()
    count, truth = count_of(predictions, given), float(wrong.float().mean())
    assert count.share == pytest.approx(truth, rel=0.15)
    assert 0.1 < count.low < truth < count.high < count.low + 0.15


def test_by_the_definition() -> None:
    """Of 1,200 labels, the surest quarter contradicts 20 %, the second 25 % and the others 45 %."""
    index = torch.arange(1200)
    predicted, place = index % 3, index // 3
    share = torch.where(index < 300, 20, torch.where(index < 600, 25, 45))
    given = torch.where(place % 100 < share, (predicted + 1) % 3, predicted)
    sure = 0.99 - 1e-4 * index
    rows = F.one_hot(predicted, 3) * sure[:, None] + (1 - F.one_hot(predicted, 3)) * (1 - sure[:, None]) / 2
    mixed = torch.randperm(1200, generator=torch.Generator().manual_seed(0))
    count = count_wrong(F.one_hot(given, 3)[mixed].double(), rows[mixed].double(), index, torch.ones(3) / 3)
    assert count.at_random
    assert count.disagree == pytest.approx((0.2 + 0.25 + 2 * 0.45) / 4)
    assert count.share == pytest.approx(0.225)
    assert count.low == pytest.approx(0.2 - 1.645 * (0.2 * 0.8 / 300) ** 0.5 - 0.05)
    assert count.high == pytest.approx(0.225 + 1.645 * (0.225 * 0.775 / 600) ** 0.5 + 0.05)


def test_after_decisions_what_was_corrected_leaves_the_count() -> None:
    count = Count(0.2, 0.1, 0.3)
    assert count.after(corrected=60, undecided=500, number=600)[:3] == (0.1, 0.0, 0.2)
    assert count.after(corrected=150, undecided=450, number=600)[:3] == (0.0, 0.0, 0.05)
    assert count.after(corrected=0, undecided=60, number=600)[:3] == (0.1, 0.1, 0.1)


def test_the_sentence() -> None:
    given, predictions, _ = noisy()
    count = count_of(predictions, given)
    assert count.at_random
    words = claim(count, "mostly cat given as dog (40)", NAMES)
    assert words.startswith("About ")
    assert ", if which ones does not depend on the input and classes do not overlap), mostly " in words
    assert done(count, (0.012, 0.004), dropped=False) == "The model was trained again on corrected labels."
    assert "lowered accuracy on held-out labels by 3.0 ± 1.0 points" in done(count, (-0.03, 0.01), dropped=True)
    assert "Too few epochs or samples" in done(count, None, dropped=False)


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
    assert count.low == 0
    assert count.high > disagree / (1 - HABIT)
    words = claim(count, "", NAMES)
    assert words.startswith(
        f"The model disagrees with {disagree:.0%} of the labels that it had not learned. Between 0% and "
    )
    assert "one label per sample cannot tell more. An audit of 100 labels can: reweigh audit RUN" in words
    between = torch.tensor([[90.0, 30, 0], [30, 80, 1], [0, 1, 99]])
    words = claim(count._replace(predicted=between), "", NAMES)
    assert "of the labels that it had not learned, mostly between cat and dog (60). Between 0% and " in words


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
    assert count.share < 0.8 * (truth := float(wrong.float().mean()))
    assert count.low <= truth <= count.high


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
    assert 0.1 < count.low <= float(wrong.float().mean()) <= count.high < 0.2


def test_where_labels_are_right() -> None:
    given, predictions, _ = noisy(0.0)
    count = count_of(predictions, given)
    assert claim(count, "mostly cat given as dog (40)", NAMES) == (
        "Hardly any labels look wrong (0% to 0.3%, if the model repeats at most 59% of the wrong ones)."
    )
    assert done(count, (0.0, 0.01), dropped=False) == "The labels were used as they are."


def test_shares_of_classes_agree_with_the_doubt_in_each_label() -> None:
    given, predictions, wrong = noisy()
    doubt = torch.where(wrong, 0.9, 0.02)
    count = count_of(predictions, given)
    share, low, high = count.by_class(doubt, given)
    for label in range(3):
        own = given[:, label] == 1
        assert float(share[label]) == pytest.approx(float(doubt[own].mean()))
        assert low[label] < share[label] < high[label]
    assert float(given.mean(0) @ high) == pytest.approx(count.high, rel=0.02)
    assert float(given.mean(0) @ low) == pytest.approx(count.low * float(doubt.mean()) / float(doubt.mean()), rel=0.02)


def test_a_small_class_borrows_its_limits() -> None:
    given, _, wrong = noisy()
    rare = F.one_hot(torch.full((4,), 3), 5).float()  # and a class without samples
    given, doubt = torch.cat([F.pad(given, (0, 2)), rare]), torch.cat([wrong.float(), torch.zeros(4)])
    share, low, high = Count(0.2, 0.15, 0.25).by_class(doubt, given)
    assert float(high[3]) > 0.05  # four labels that are predicted do not prove that the class is right
    assert [float(each[4]) for each in (share, low, high)] == [0, 0, 0]


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


def test_labels_of_copies_that_differ_are_wrong() -> None:
    given, _, _ = noisy(0.0)
    groups = torch.arange(600)
    groups[::30] = 0  # 20 copies of one sample of class 0
    given[0:300:30] = F.one_hot(torch.tensor(1), 3).float()  # ten labels, or the ten others, are wrong
    equal = EqualInputs(groups, copied=True)
    assert equal.contradicted(given) == (10, 20)
    agreed = F.one_hot(given.argmax(1), 3) * 0.9 + 0.1 / 3  # by a model that has learned them
    count = count_of(agreed, given, equal=equal)
    assert count.low == pytest.approx(10 / 600, rel=0.01)
    assert count.high >= count.share >= count.low
    assert count_of(agreed, given).low == 0
    words = claim(count, "", NAMES)
    assert "10 labels contradict most labels of copies of the same sample: wrong, unless" in words


def test_equal_rows_show_that_classes_overlap() -> None:
    """Labels are wrong at random by all appearance, but equal rows contradict each other more often."""
    given, predictions, _ = noisy(0.2)
    assert count_of(predictions, given).at_random
    shuffled = EqualInputs(torch.arange(600) % 20, copied=False)  # inputs that say nothing about the class
    found = count_of(predictions, given, equal=shuffled)
    assert not found.at_random
    assert found.low == 0
    few = EqualInputs(torch.cat([torch.arange(596), torch.zeros(4, dtype=torch.int64)]), copied=False)
    assert count_of(predictions, given, equal=few).at_random  # too few to say


def test_nothing_speaks_against_labels_of_samples_that_are_all_alike() -> None:
    given, predictions, _ = noisy(0.2)
    alike = torch.zeros(600, dtype=torch.int64)
    count = count_of(predictions, given, equal=EqualInputs(alike, copied=False))
    assert (count.share, count.low) == (0, 0)
    assert claim(count, "", NAMES) == "All inputs are equal, so nothing can be said about the labels."
    assert count_of(predictions, given, equal=EqualInputs(alike, copied=True)).share > 0.5


def test_no_estimate_is_claimed_by_a_model_at_chance() -> None:
    """Labels drawn at random: sure and unsure predictions are contradicted alike, since the model knows nothing."""
    rng = torch.Generator().manual_seed(0)
    given = F.one_hot(torch.randint(3, (300,), generator=rng), 3).float()
    count = count_of(torch.randn(300, 3, generator=rng).softmax(1), given)
    assert not count.at_random
    assert count.high > 0.6


def test_upper_limits_of_classes_add_up_to_that_of_all() -> None:
    given, _, _ = noisy(0.0)
    doubt = torch.where((given[:, 0] == 1) & (torch.arange(600) % 2 == 0), 1.0, 0.0)  # half of one class
    _, _, high = Count(1 / 6, 0.0, 0.4).by_class(doubt, given)
    assert float(given.mean(0) @ high) == pytest.approx(0.4, rel=0.01)
    assert float(high.max()) <= 1

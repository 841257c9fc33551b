"""Confused labels: estimated from what held-out models predict, undone, and told apart from right ones."""

import itertools

import torch

from reweigh.fit.confusion import posterior, transition, undone

ONE_WAY = torch.tensor([[0.6, 0.4, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)


def drawn(confusion: torch.Tensor, true: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
    """True classes, given labels, and what a good model of the given labels predicts."""
    generator = torch.Generator().manual_seed(0)
    true = torch.arange(3000) % len(confusion) if true is None else true
    given = torch.multinomial(confusion[true], 1, generator=generator).squeeze(1)
    noise = 0.3 * torch.randn(len(true), len(confusion), generator=generator, dtype=torch.float64)
    predictions = ((confusion[true] + 0.02).log() + noise).softmax(1)
    return true, given, predictions


def test_labels_confused_one_way_are_seen() -> None:
    _, given, predictions = drawn(ONE_WAY)
    found = transition(predictions, given)
    torch.testing.assert_close(found.sum(1), torch.ones(3, dtype=torch.float64))
    assert 0.25 < found[0, 1] < 0.45
    assert found[~torch.eye(3, dtype=torch.bool)].sort().values[:-1].max() < 0.05  # and no others


def test_what_goes_both_ways_is_spread_evenly() -> None:
    both = torch.tensor([[0.7, 0.3, 0.0], [0.3, 0.7, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    _, given, predictions = drawn(both)
    found = transition(predictions, given)
    apart = [float(found[row, column]) for row, column in itertools.permutations(range(3), 2)]
    assert max(apart) - min(apart) < 0.05
    assert min(apart) > 0.05


def test_a_rare_class_does_not_make_noise_one_way() -> None:
    """At one rate more labels change from the frequent class to the rare one than back."""
    even = torch.tensor([[0.8, 0.2], [0.2, 0.8]], dtype=torch.float64)
    _, given, predictions = drawn(even, true=(torch.arange(3000) % 4 == 0).long())
    found = transition(predictions, given)
    torch.testing.assert_close(found[0, 1], found[1, 0], atol=0.05, rtol=0)


def test_undone_is_what_the_confusion_was_made_of() -> None:
    generator = torch.Generator().manual_seed(1)
    true = torch.randn(50, 3, generator=generator, dtype=torch.float64).softmax(1)
    found = undone(true @ ONE_WAY, ONE_WAY)
    assert (found - true).abs().max() < (true @ ONE_WAY - true).abs().max() / 4
    torch.testing.assert_close(found @ ONE_WAY, true @ ONE_WAY, atol=0.02, rtol=0)
    same = torch.eye(3, dtype=torch.float64)
    torch.testing.assert_close(undone(true, same), true)


def test_the_posterior_is_bayes_rule() -> None:
    true = torch.tensor([[0.5, 0.4, 0.1]], dtype=torch.float64)
    found = posterior(true, torch.tensor([1]), ONE_WAY)
    torch.testing.assert_close(found, torch.tensor([[0.5 * 0.4, 0.4 * 1.0, 0.0]], dtype=torch.float64) / 0.6)
    sure = posterior(true, torch.tensor([0]), ONE_WAY)  # nothing else is ever labeled 0
    torch.testing.assert_close(sure, torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64))


def test_wrong_labels_come_before_doubtful_right_ones() -> None:
    """Of a class that loses 40 % of its samples, the model doubts the right labels as well; they are right for sure."""
    true, given, predictions = drawn(ONE_WAY)
    confusion = transition(predictions, given)
    believed = posterior(undone(predictions, confusion), given, confusion).gather(1, given[:, None]).squeeze(1)
    wrong = true != given
    worst = believed.argsort()[: int(wrong.sum())]
    plain = predictions.gather(1, given[:, None]).squeeze(1).argsort()[: int(wrong.sum())]
    assert wrong[worst].float().mean() > 0.9
    assert wrong[plain].float().mean() < 0.8


def test_a_class_that_nobody_is_given_does_no_harm() -> None:
    _, given, predictions = drawn(ONE_WAY)
    wider = torch.cat([predictions * 0.99, torch.full((len(given), 1), 0.01, dtype=torch.float64)], 1)
    confusion = transition(wider, given)
    assert bool(confusion.isfinite().all())
    assert bool(posterior(undone(wider, confusion), given, confusion).isfinite().all())

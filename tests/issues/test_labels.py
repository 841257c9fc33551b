"""Labels that a person has corrected, and those beyond doubt."""

import pytest
import torch
import torch.nn.functional as F

from reweigh.issues.labels import Labels
from reweigh.issues.stock import confident_joint, credibility, learned_joint, take_stock, with_prior


def test_corrected_labels_are_learned_and_the_confusion_is_that_of_the_labels_before():
    generator = torch.Generator().manual_seed(0)
    predictions = (2 * torch.randn(300, 3, generator=generator)).softmax(1)
    before = torch.multinomial(predictions, 1, generator=generator).squeeze(1)
    checked = torch.arange(300) % 5 == 0
    labels = torch.where(checked, predictions.argmax(1), before)
    beyond_doubt = checked.index_fill(0, torch.tensor([1, 2]), True)
    known = Labels(F.one_hot(labels, 3).float(), F.one_hot(before, 3).float(), beyond_doubt)
    stock, _ = known.take_stock(predictions, predictions, torch.arange(300))
    plain = take_stock(predictions, F.one_hot(before, 3).float())
    torch.testing.assert_close(stock.transition, plain.transition)
    assert torch.equal(stock.posterior[beyond_doubt], known.given[beyond_doubt])
    torch.testing.assert_close(stock.posterior[~beyond_doubt], plain.posterior[~beyond_doubt])
    likely = known.likely(plain)
    assert torch.equal(likely[beyond_doubt], known.given[beyond_doubt])
    torch.testing.assert_close(likely[3], plain.transition[before[3]])


def test_if_a_class_is_rare_held_out_samples_tell_the_confusion_too():
    rng = torch.Generator().manual_seed(0)
    labels = (torch.rand(2000, generator=rng) < 0.05).long()
    predictions = (2 * torch.randn(2000, 2, generator=rng) + 3 * F.one_hot(labels, 2)).softmax(1)
    apart, rows = torch.arange(500), F.one_hot(labels, 2).float()
    known = Labels(rows, rows, torch.zeros(2000, dtype=torch.bool))
    stock, _ = known.take_stock(predictions, predictions[apart], apart)
    learned = learned_joint(predictions[apart], rows[apart], rows[apart].mean(0))
    learned = learned / learned.sum(1, keepdim=True) * rows.sum(0)[:, None]
    expected = (learned + confident_joint(with_prior(predictions, rows[apart].mean(0)), rows)) / 2
    torch.testing.assert_close(stock.joint, expected)


def test_without_held_out_samples_all_predictions_tell_the_confusion():
    predictions = (2 * torch.randn(300, 3, generator=torch.Generator().manual_seed(0))).softmax(1)
    labels = predictions.argmax(1)
    rows, none = F.one_hot(labels, 3).float(), torch.empty(0, dtype=torch.int64)
    known = Labels(rows, rows, torch.zeros(300, dtype=torch.bool))
    stock, count = known.take_stock(predictions, torch.empty(0, 3), none)
    assert float(stock.joint.trace() / stock.joint.sum()) > 0.98
    assert count.share < 0.01


def left_after(decided, given, true, predictions):
    """Wrong labels left after decisions, as estimated and in truth."""
    known = torch.zeros(4000, dtype=torch.bool).index_fill(0, decided, True)
    corrected = F.one_hot(torch.where(known, true, given), 4).float()
    labels = Labels(corrected, F.one_hot(given, 4).float(), known)
    _, count = labels.take_stock(predictions, predictions, torch.arange(4000))
    share, low, high = (4000 * each for each in count[:3])
    truth = int((given != true)[~known].sum())
    assert low <= truth <= high
    return share, truth


def test_what_is_left_does_not_depend_on_the_order_of_decisions():
    """What was corrected leaves the count of all labels before, whether any were decided about or the worst first."""
    rng = torch.Generator().manual_seed(0)
    true = torch.arange(4000) % 4
    given = torch.where(torch.rand(4000, generator=rng) < 0.2, (true + 1) % 4, true)
    predictions = (3.0 * F.one_hot(true, 4) + torch.randn(4000, 4, generator=rng)).softmax(1)
    worst = predictions.gather(1, given[:, None]).squeeze(1).argsort()[:600]
    before, truth = left_after(worst[:0], given, true, predictions)
    for decided in (worst, torch.randperm(4000, generator=rng)[:600]):
        after, left = left_after(decided, given, true, predictions)
        assert before - after == pytest.approx(truth - left, abs=0.01)
        assert left_after(decided.flip(0), given, true, predictions)[0] == after


def test_decisions_about_the_worst_do_not_use_up_the_count():
    rng = torch.Generator().manual_seed(0)
    true = torch.arange(4000) % 4
    given = torch.where(torch.rand(4000, generator=rng) < 0.2, (true + 1) % 4, true)
    predictions = (3.0 * F.one_hot(true, 4) + torch.randn(4000, 4, generator=rng)).softmax(1)
    earlier = (3.0 * F.one_hot(true, 4) + torch.randn(4000, 4, generator=rng)).softmax(1)
    worst = earlier.gather(1, given[:, None]).squeeze(1).argsort()
    for count in (150, 300, 450):
        after, truth = left_after(worst[:count], given, true, predictions)
        assert after == pytest.approx(truth, rel=0.25)


def test_labels_are_credible_by_the_evidence_before_corrections_and_beyond_doubt_if_checked(monkeypatch):
    monkeypatch.setattr("reweigh.issues.stock.CACHED", 60)  # 20 rows at a time
    predictions = (2 * torch.randn(300, 3, generator=torch.Generator().manual_seed(0))).softmax(1)
    before = F.one_hot((predictions.argmax(1) + (torch.arange(300) % 4 == 0)) % 3, 3).float()
    given, checked = before.clone(), torch.arange(300) % 5 == 0
    given[0], given[1] = torch.tensor([0.0, 0.0, 1.0]), before[1].roll(1)
    labels = Labels(given, before, checked)
    stock, _ = labels.take_stock(predictions, predictions, torch.arange(300))
    expected = (given * credibility(predictions, before, stock)).sum(1)
    found = labels.credible(predictions, stock)
    torch.testing.assert_close(found[~checked], expected[~checked])
    assert bool((found[checked] == 1).all())

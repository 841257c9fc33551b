"""Labels that a person has corrected, and those beyond doubt."""

import torch
import torch.nn.functional as F

from reweigh.issues.labels import Labels
from reweigh.issues.stock import confident_joint, learned_joint, take_stock, with_prior


def test_corrected_labels_are_learned_and_the_confusion_is_that_of_the_labels_before():
    generator = torch.Generator().manual_seed(0)
    predictions = (2 * torch.randn(300, 3, generator=generator)).softmax(1)
    before = torch.multinomial(predictions, 1, generator=generator).squeeze(1)
    checked = torch.arange(300) % 5 == 0
    labels = torch.where(checked, predictions.argmax(1), before)
    beyond_doubt = checked.index_fill(0, torch.tensor([1, 2]), True)
    known = Labels(F.one_hot(labels, 3).float(), F.one_hot(before, 3).float(), beyond_doubt)
    stock, _ = known.take_stock(predictions, predictions, torch.arange(300), predictions.log(), weak=False)
    plain = take_stock(predictions, F.one_hot(before, 3).float())
    torch.testing.assert_close(stock.transition, plain.transition)
    assert torch.equal(stock.posterior[beyond_doubt], known.given[beyond_doubt])
    torch.testing.assert_close(stock.posterior[~beyond_doubt], plain.posterior[~beyond_doubt])
    likely = known.likely(plain.transition)
    assert torch.equal(likely[beyond_doubt], known.given[beyond_doubt])
    torch.testing.assert_close(likely[3], plain.transition[before[3]])


def test_if_a_class_is_rare_held_out_samples_tell_the_confusion_too():
    rng = torch.Generator().manual_seed(0)
    labels = (torch.rand(2000, generator=rng) < 0.05).long()
    predictions = (2 * torch.randn(2000, 2, generator=rng) + 3 * F.one_hot(labels, 2)).softmax(1)
    apart, rows = torch.arange(500), F.one_hot(labels, 2).float()
    known = Labels(rows, rows, torch.zeros(2000, dtype=torch.bool))
    stock, _ = known.take_stock(predictions, predictions[apart], apart, predictions.log(), True)
    learned = learned_joint(predictions[apart], rows[apart], rows[apart].mean(0))
    learned = learned / learned.sum(1, keepdim=True) * rows.sum(0)[:, None]
    expected = (learned + confident_joint(with_prior(predictions, rows[apart].mean(0)), rows)) / 2
    torch.testing.assert_close(stock.joint, expected)


def test_without_held_out_samples_all_predictions_tell_the_confusion():
    predictions = (2 * torch.randn(300, 3, generator=torch.Generator().manual_seed(0))).softmax(1)
    labels = predictions.argmax(1)
    rows, none = F.one_hot(labels, 3).float(), torch.empty(0, dtype=torch.int64)
    known = Labels(rows, rows, torch.zeros(300, dtype=torch.bool))
    stock, count = known.take_stock(predictions, torch.empty(0, 3), none, predictions.log(), weak=False)
    assert float(stock.joint.trace() / stock.joint.sum()) > 0.98
    assert count.in_all(rows)[0] < 0.01

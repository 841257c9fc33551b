"""Labels that a person has corrected, and those beyond doubt."""

import torch
import torch.nn.functional as F

from reweigh.data import Dataset
from reweigh.issues.stock import confident_joint, learned_joint, take_stock, with_prior
from reweigh.methods.parts.first_look import FirstPredictions
from reweigh.methods.parts.labels import Labels


def test_corrected_labels_are_learned_and_the_confusion_is_that_of_the_labels_before():
    generator = torch.Generator().manual_seed(0)
    predictions = (2 * torch.randn(300, 3, generator=generator)).softmax(1)
    before = torch.multinomial(predictions, 1, generator=generator).squeeze(1)
    checked = torch.arange(300) % 5 == 0
    labels = torch.where(checked, predictions.argmax(1), before)
    dataset = Dataset(torch.zeros(300, 2), labels, tuple("abc"), trusted=checked, uncorrected=before)
    known, vouched = Labels(dataset, torch.tensor([1, 2])), torch.tensor([1, 2])
    first = FirstPredictions(predictions, predictions, torch.arange(300))
    stock, _ = known.judged(first, predictions, predictions.log(), weak=False)
    plain = take_stock(predictions, F.one_hot(before, 3).float())
    torch.testing.assert_close(stock.transition, plain.transition)
    beyond_doubt = checked.index_fill(0, vouched, True)
    assert torch.equal(known.given, F.one_hot(labels, 3).float())
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
    first = FirstPredictions(predictions, predictions, apart)
    stock, _ = Labels(Dataset(torch.zeros(2000, 2), labels, tuple("ab"))).judged(
        first, predictions, predictions.log(), True
    )
    learned = learned_joint(predictions[apart], rows[apart], rows[apart].mean(0))
    learned = learned / learned.sum(1, keepdim=True) * rows.sum(0)[:, None]
    expected = (learned + confident_joint(with_prior(predictions, rows[apart].mean(0)), rows)) / 2
    torch.testing.assert_close(stock.joint, expected)


def test_without_held_out_samples_all_predictions_tell_the_confusion():
    predictions = (2 * torch.randn(300, 3, generator=torch.Generator().manual_seed(0))).softmax(1)
    labels = predictions.argmax(1)
    dataset = Dataset(torch.zeros(300, 2), labels, tuple("abc"))
    first = FirstPredictions(predictions, torch.zeros_like(predictions), torch.empty(0, dtype=torch.int64))
    stock, count = Labels(dataset).judged(first, predictions, predictions.log(), weak=False)
    assert float(stock.joint.trace() / stock.joint.sum()) > 0.98
    assert count.in_all(F.one_hot(labels, 3).float())[0] < 0.01

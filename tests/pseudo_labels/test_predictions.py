"""Temporal ensembling against a loop, and the small store against the dense one."""

import pytest
import torch

from reweigh.errors import DataError
from reweigh.pseudo_labels import DensePredictions, TopPredictions, predictions


def _sharp(generator: torch.Generator, n: int, classes: int) -> torch.Tensor:
    return torch.softmax(6 * torch.randn(n, classes, generator=generator), 1)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_dense_against_a_loop(momentum: float) -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.tensor([0, 2, 1, 2])
    store = DensePredictions(labels, 3, momentum)
    slow = [[float(k == label) for k in range(3)] for label in labels]
    for _ in range(5):
        index = torch.randperm(4, generator=generator)[:2]
        new = _sharp(generator, 2, 3)
        found = store.update(index, new)
        for row, i in enumerate(index.tolist()):
            slow[i] = [momentum * slow[i][k] + (1 - momentum) * float(new[row, k]) for k in range(3)]
            torch.testing.assert_close(found[row], torch.tensor(slow[i]))
    assert store.labels().tolist() == torch.tensor(slow).argmax(1).tolist()


def test_half_precision_is_close_to_single_precision() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.tensor([0, 4, -1, 2])
    single, half = DensePredictions(labels, 5, 0.9), DensePredictions(labels, 5, 0.9, dtype=torch.float16)
    for _ in range(30):
        index = torch.randperm(4, generator=generator)[:2]
        new = _sharp(generator, 2, 5)
        expected, found = single.update(index, new), half.update(index, new)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, expected, atol=3e-3, rtol=0)
        torch.testing.assert_close(half[index].sum(1), torch.ones(2))
    assert torch.equal(single.labels(), half.labels())


def test_the_small_store_is_close_to_the_dense_one() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(50, (40,), generator=generator)
    dense, small = DensePredictions(labels, 50, 0.9), TopPredictions(labels, 50, 0.9, keep=10)
    usual = 4 * torch.randn(40, 50, generator=generator)  # a sample looks alike from epoch to epoch
    for _ in range(20):
        index = torch.randperm(40, generator=generator)[:15]
        new = torch.softmax(usual[index] + torch.randn(15, 50, generator=generator), 1)
        expected, found = dense.update(index, new), small.update(index, new)
        torch.testing.assert_close(found.sum(1), torch.ones(15))
        torch.testing.assert_close(found, expected, atol=0.02, rtol=0)
    assert torch.equal(small.labels(), dense.labels())


def test_more_classes_than_16_bits_have_numbers() -> None:
    store = TopPredictions(torch.tensor([39_999, 5]), 40_000, 0.5)
    assert store.labels().tolist() == [39_999, 5]
    store.restart(torch.tensor([1]), torch.nn.functional.one_hot(torch.tensor([35_000]), 40_000).float())
    assert store.labels().tolist() == [39_999, 35_000]
    assert int(store[torch.tensor([1])].argmax()) == 35_000


def test_a_million_samples_of_a_thousand_classes_take_less_than_100_mb() -> None:
    store = predictions(torch.zeros(1_000_000, dtype=torch.int64), 1000, 0.9)
    assert isinstance(store, TopPredictions)
    assert sum(t.numel() * t.element_size() for t in store.state_dict().values()) < 100e6
    assert isinstance(predictions(torch.zeros(50_000, dtype=torch.int64), 10, 0.9), DensePredictions)
    (rows,) = predictions(torch.zeros(300_000, dtype=torch.int64), 10, 0.9).state_dict().values()
    assert rows.numel() * rows.element_size() == 300_000 * 20


@pytest.mark.parametrize("kind", [DensePredictions, TopPredictions])
def test_goes_on_where_it_was(kind: type[DensePredictions] | type[TopPredictions]) -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(6) % 3
    first, second = kind(labels, 3, 0.5), kind(labels.flip(0), 3, 0.5)
    first.update(torch.arange(6), _sharp(generator, 6, 3))
    second.load_state_dict(first.state_dict())
    new = _sharp(generator, 6, 3)
    assert torch.equal(first.update(torch.arange(6), new), second.update(torch.arange(6), new))


@pytest.mark.parametrize("store", [DensePredictions, TopPredictions])
def test_samples_without_an_index_are_refused(store) -> None:
    kept = store(torch.zeros(5, dtype=torch.int64), 3, 0.9)
    rows = torch.full((2, 3), 1 / 3)
    with pytest.raises(DataError, match=r"needs the index of each sample .*; let the dataset return it as index"):
        kept.update(None, rows)
    with pytest.raises(DataError, match=r"index: 2 indices from 0 to 4 are needed.* got shape \(2,\) from 1 to 5"):
        kept.update(torch.tensor([1, 5]), rows)

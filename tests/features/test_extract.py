from threading import Lock

import pytest
import torch
from torch import nn

from reweigh.data.on_demand import OnDemand
from reweigh.errors import DataError
from reweigh.features import extract as module
from reweigh.features.extract import extract
from reweigh.features.network import Network
from reweigh.threads import threads


class Mean(nn.Module):
    """The mean of each channel; counts the samples that it saw."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.seen, self.most, self.lock = 0, 0, Lock()

    def forward(self, images):
        with self.lock:
            self.seen += len(images)
            self.most = max(self.most, torch.get_num_threads())
        return images.mean((2, 3)) * self.scale


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    monkeypatch.setenv("REWEIGH_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "SAMPLES_PER_READ", 4)
    monkeypatch.setattr(module, "ROWS_PER_STORE", 8)


def images(count, seed=0):
    return torch.randint(0, 256, (count, 3, 5, 5), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))


def network():
    return Network("mean", Mean(), 3)


def test_as_a_plain_loop_and_counted():
    inputs, counts = images(10), []
    rows, unreadable = extract(inputs, network(), count=lambda done, total: counts.append((done, total)))
    assert unreadable == {}
    assert counts == [(4, 10), (8, 10), (10, 10)]
    for place, image in enumerate(inputs):
        torch.testing.assert_close(rows[place], image.float().mean((1, 2)) / 255)


@pytest.mark.parametrize("number", [1, 3])
def test_batches_in_several_threads_each_with_one(number):
    found, before = network(), torch.get_num_threads()
    with threads(number):
        rows = extract(images(50), found, cache=False).rows
        assert torch.get_num_threads() == number
    torch.testing.assert_close(rows, images(50).float().mean((2, 3)) / 255)
    assert (found.module.seen, found.module.most) == (50, 1)
    assert not rows.requires_grad
    assert torch.get_num_threads() == before


def test_only_what_is_new_is_computed():
    first, again, more, other = (network() for _ in range(4))
    rows = extract(images(10), first).rows
    assert torch.equal(extract(images(10), again).rows, rows)
    extract(torch.cat([images(3, seed=1), images(10)]), more)
    other.module.scale.data.fill_(2)
    torch.testing.assert_close(extract(images(10), other).rows, 2 * rows)
    assert [each.module.seen for each in (first, again, more, other)] == [10, 0, 3, 10]
    assert extract(images(10), again, cache=False).rows.equal(rows)
    assert again.module.seen == 10


def test_an_interruption_keeps_what_was_computed():
    def stop(done, total):
        if done >= 12:
            raise KeyboardInterrupt

    first, again = network(), network()
    with pytest.raises(KeyboardInterrupt):
        extract(images(20), first, count=stop)
    extract(images(20), again)
    assert first.module.seen >= 12  # batches that were begun are finished
    assert again.module.seen == 12  # eight of them were stored


def test_unreadable_samples_are_reported_not_stored():
    pixels = images(10)

    def read_one(row):
        if row in (2, 9):
            raise DataError(f"{row}.png: broken")
        return pixels[row]

    inputs = OnDemand(read_one, 10, (3, 5, 5), content=lambda row: [pixels[row].numpy().tobytes()])
    for _ in range(2):
        rows, unreadable = extract(inputs, network())
        assert unreadable == {2: "2.png: broken", 9: "9.png: broken"}
        assert rows.isnan().any(1).nonzero().flatten().tolist() == [2, 9]


def test_features_that_are_not_finite_are_refused_and_not_stored():
    wrong = network()
    wrong.module.scale.data.fill_(torch.nan)
    for _ in range(2):
        with pytest.raises(DataError, match="NaN or infinity for 5 samples"):
            extract(images(5), wrong)
    assert wrong.module.seen == 10


def test_the_network_is_left_as_it_was():
    found = network()
    found.module.train()
    rows = extract(images(2), found).rows
    assert found.module.training
    assert not rows.requires_grad

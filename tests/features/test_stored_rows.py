"""Rows that stay on disk beside the same rows in memory."""

import pickle
import sys
from pathlib import Path

import pytest
import torch

from reweigh.data import Dataset
from reweigh.data.inputs import standardize_like
from reweigh.errors import StorageError
from reweigh.features.extract import StoredRows, joined
from reweigh.files.row_cache import RowCache, digest

ROWS = torch.randn(10, 3, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("REWEIGH_CACHE", str(tmp_path))


@pytest.fixture
def store():
    """Rows 0 to 8 in three parts."""
    found = RowCache("net", 3)
    for part in torch.arange(9).split(3):
        found.add([digest(bytes([place])) for place in part], ROWS[part])
    return found


def stored(store, places):
    return StoredRows(store.width, *store.find([digest(bytes([place])) for place in places]))


def test_any_rows_as_in_memory(store):
    places = [8, 0, 3, 0, 7]
    rows, expected = stored(store, places), ROWS[places]
    assert torch.equal(rows.in_memory(), expected)
    for index in (torch.tensor([4, 0, 0]), torch.tensor([-1]), torch.arange(5) % 2 == 1, torch.arange(0)):
        assert torch.equal(rows[index], expected[index])
    with_gap = stored(store, [9, 2])
    assert with_gap.missing.tolist() == [True, False]
    assert with_gap.in_memory().isnan().any(1).tolist() == [True, False]
    assert len(stored(store, [])) == 0


def test_as_inputs_of_a_dataset(store):
    rows = stored(store, range(9))
    for found, expected in zip(standardize_like(rows).__dict__.values(), standardize_like(ROWS[:9]).__dict__.values(),
                               strict=True):  # fmt: skip
        assert found is expected or torch.equal(torch.as_tensor(found), torch.as_tensor(expected))
    dataset = Dataset(rows, torch.zeros(9, dtype=torch.int64), ("a",))
    assert dataset.shape == (3,)
    some = dataset.subset(torch.tensor([5, 2])).subset(torch.tensor([1]))
    assert torch.equal(some.batch(torch.tensor([0])).inputs, ROWS[[2]])


def test_files_are_mapped_and_not_read_whole(store):
    rows = stored(store, range(9))
    rows[torch.tensor([4])]
    if sys.platform == "linux":
        maps = Path("/proc/self/maps").read_text()
        wanted = rows.parts[int(rows.places[4, 0])]
        assert [part for part in rows.parts if str(part) in maps] == [wanted]


def test_shares_of_several_processes_are_joined(store):
    shares = [stored(store, [1, 9]), stored(store, [8]), stored(store, [0, 4])]
    sent = [pickle.loads(pickle.dumps(share)) for share in shares]
    assert len(pickle.dumps(shares[0])) < 2000
    whole = joined(sent)
    assert isinstance(whole, StoredRows)
    assert torch.equal(whole.in_memory().nan_to_num(7.0), torch.cat([s.in_memory() for s in shares]).nan_to_num(7.0))
    mixed = joined([shares[1], ROWS[:2]])
    assert torch.equal(mixed, torch.cat([ROWS[[8]], ROWS[:2]]))


def test_a_file_that_is_gone(store):
    rows = stored(store, [0])
    for part in rows.parts:
        part.unlink()
    with pytest.raises(StorageError, match=r"cannot be read \(.*REWEIGH_CACHE"):
        rows.in_memory()

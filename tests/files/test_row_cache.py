import pytest
import torch

from reweigh.errors import StorageError
from reweigh.files import row_cache
from reweigh.files.row_cache import RowCache, clear, digest, parts, usage


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("REWEIGH_CACHE", str(tmp_path))
    return tmp_path


def some(numbers):
    return [digest(str(number).encode()) for number in numbers]


def filled(cache, numbers):
    rows = torch.full((len(numbers), cache.width), torch.nan)
    return rows, cache.fill(some(numbers), rows).tolist()


def test_rows_come_back_by_content_in_any_order():
    cache = RowCache("net", 3)
    cache.add(some([0, 1]), torch.arange(6.0).view(2, 3))
    cache.add(some([5]), torch.full((1, 3), 5.0))
    rows, missing = filled(RowCache("net", 3), [5, 7, 1, 5])
    assert missing == [False, True, False, False]
    assert rows[[0, 2, 3]].tolist() == [[5.0] * 3, [3.0, 4.0, 5.0], [5.0] * 3]
    assert filled(RowCache("other net", 3), [0])[1] == [True]


@pytest.mark.parametrize("harm", ["truncated", "changed", "not safetensors", "other width"])
def test_a_damaged_part_is_left_out_and_deleted(harm, caplog, root):
    cache = RowCache("net", 3)
    cache.add(some([0]), torch.zeros(1, 3))
    cache.add(some([1]), torch.ones(1, 3))
    broken = next(path for path in parts(cache.folder) if path.name.startswith(digest(*some([0])).hex()))
    content = broken.read_bytes()
    if harm == "other width":
        RowCache("net", 2).add(some([0]), torch.zeros(1, 2))
    else:
        changes = {"truncated": content[:-5], "changed": content[:-1] + b"\1", "not safetensors": b"nonsense"}
        broken.write_bytes(changes[harm])
    assert filled(cache, [0, 1])[1] == [True, False]
    assert "computed again" in caplog.text
    assert len(parts(cache.folder)) == 1


def test_a_disk_too_small_is_reported_before(monkeypatch):
    monkeypatch.setattr(row_cache.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 1_000_000}))
    RowCache("net", 1280).reserve(100)
    with pytest.raises(StorageError, match=r"1,000 samples need 5\.6 MB on disk, and 1\.0 MB are free.*REWEIGH_CACHE"):
        RowCache("net", 1280).reserve(1000)


def test_usage_and_clear(root):
    RowCache("small", 2).add(some([0]), torch.zeros(1, 2))
    RowCache("large", 2).add(some(range(100)), torch.zeros(100, 2))
    assert [(cache.name, cache.rows) for cache in usage()] == [("large", 100), ("small", 1)]
    clear(["large"])
    assert [cache.name for cache in usage()] == ["small"]


def test_the_folder_of_caches(monkeypatch, tmp_path):
    monkeypatch.delenv("REWEIGH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert row_cache.cache_root() == tmp_path / "reweigh"

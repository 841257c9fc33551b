"""A line is whole or absent, whoever writes besides, whatever was left behind."""

import errno
import multiprocessing
import os

import pytest

from reweigh.errors import StorageError
from reweigh.files.ledger import append, read


def write_many(path, name):
    for number in range(50):
        append(path, f"{name} {number}")


def test_what_is_appended_is_read_once(tmp_path):
    path = tmp_path / "ledger"
    assert read(path) == ([], 0)
    append(path, "one")
    append(path, "two é")
    lines, end = read(path)
    assert lines == ["one", "two é"]
    append(path, "three")
    assert read(path, end) == (["three"], path.stat().st_size)


def test_two_processes_write_whole_lines(tmp_path):
    path = tmp_path / "ledger"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=write_many, args=(path, name)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert sorted(read(path)[0]) == sorted(f"{name} {number}" for name in "ab" for number in range(50))


def test_a_line_that_a_killed_process_left_unfinished_does_not_count(tmp_path):
    path = tmp_path / "ledger"
    append(path, "one")
    with open(path, "a") as file:
        file.write("tw")
    assert read(path)[0] == ["one"]
    append(path, "three")
    assert read(path)[0] == ["one", "three"]


@pytest.mark.parametrize("broken", ["write", "fsync", "short"])
def test_on_a_full_disk_the_file_stays_as_it_was(tmp_path, monkeypatch, broken):
    path = tmp_path / "ledger"
    append(path, "one")
    real = os.write

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    if broken == "short":
        monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:2]))
    else:
        monkeypatch.setattr(os, broken, full)
    with pytest.raises(StorageError, match="make room"):
        append(path, "two")
    monkeypatch.undo()
    assert read(path)[0] == ["one"]
    append(path, "two")
    assert read(path)[0] == ["one", "two"]

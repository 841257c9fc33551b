"""A record is whole or absent, whoever writes besides, whatever was left behind; what changes later is noticed."""

import errno
import json
import multiprocessing
import os

import pytest

from reweigh.errors import DataError, StorageError
from reweigh.files.ledger import append, read


def words(path):
    return [record["word"] for record in read(path)[0]]


def say(path, *said):
    for word in said:
        append(path, {"word": word})


def write_many(path, name):
    say(path, *(f"{name} {number}" for number in range(50)))


def test_what_is_appended_is_read_once(tmp_path):
    path = tmp_path / "ledger"
    assert read(path)[0] == []
    say(path, "one", 'two é, "sum": "0123456789abcdef"}')
    found, place = read(path)
    assert [record["word"] for record in found] == ["one", 'two é, "sum": "0123456789abcdef"}']
    say(path, "three")
    found, place = read(path, place)
    assert (found, place.end, place.lines) == ([{"word": "three"}], path.stat().st_size, 3)
    assert read(path, place) == ([], place)


def test_two_processes_write_whole_lines(tmp_path):
    path = tmp_path / "ledger"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=write_many, args=(path, name)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert sorted(words(path)) == sorted(f"{name} {number}" for name in "ab" for number in range(50))


def test_a_line_that_a_killed_process_left_unfinished_does_not_count(tmp_path):
    path = tmp_path / "ledger"
    say(path, "one")
    with open(path, "a") as file:
        file.write('{"word": "tw')
    assert words(path) == ["one"]
    say(path, "three")
    assert words(path) == ["one", "three"]


@pytest.mark.parametrize(
    "damaged",
    [
        lambda line: line.replace("two", "tow"),
        lambda line: line[:-1],
        lambda line: line.replace('"sum"', '"sun"'),
        lambda line: '{"word": "two"}',
        lambda line: "[1]",
        lambda line: "",
    ],
)
def test_a_line_that_was_changed_is_named(tmp_path, damaged):
    path = tmp_path / "ledger"
    say(path, "one", "two", "three")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], damaged(lines[1]), lines[2], ""]))
    with pytest.raises(DataError, match="ledger, line 2: damaged or changed"):
        read(path)
    path.write_text("\n".join([lines[0], lines[2], ""]))  # how to go on
    assert words(path) == ["one", "three"]


def test_a_last_line_that_lost_its_end_is_not_taken_for_an_unfinished_one(tmp_path):
    path = tmp_path / "ledger"
    say(path, "one", "two")
    path.write_text(path.read_text()[:-1])
    with pytest.raises(DataError, match="line 2: damaged"):
        read(path)


@pytest.mark.parametrize("broken", ["write", "fsync", "short"])
def test_on_a_full_disk_the_file_stays_as_it_was(tmp_path, monkeypatch, broken):
    path = tmp_path / "ledger"
    say(path, "one")
    real = os.write

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    if broken == "short":
        monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:2]))
    else:
        monkeypatch.setattr(os, broken, full)
    with pytest.raises(StorageError, match="make room"):
        say(path, "two")
    monkeypatch.undo()
    assert words(path) == ["one"]
    say(path, "two")
    assert words(path) == ["one", "two"]


def test_nothing_is_written_where_a_link_points(tmp_path):
    (tmp_path / "mine").write_text(json.dumps({"word": "mine"}) + "\n")
    (tmp_path / "ledger").symlink_to(tmp_path / "mine")
    with pytest.raises(StorageError, match="link to another place"):
        say(tmp_path / "ledger", "one")
    assert (tmp_path / "mine").read_text() == '{"word": "mine"}\n'

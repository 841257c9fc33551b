"""One writer per folder: a second one is refused, and a dead one is recognized."""

import errno
import json
import logging
import os
import signal
import socket
import subprocess
import sys

import pytest

from reweigh.errors import DataError, StorageError
from reweigh.files import lock
from reweigh.files.lock import LOCK_NAME, Owner, locked, owner

HOLD = """
import sys
from pathlib import Path
from reweigh.files.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_leaves_nothing_behind(tmp_path):
    with locked(tmp_path / "run"):
        assert owner(tmp_path / "run") == Owner.current()
    assert list((tmp_path / "run").iterdir()) == []
    assert owner(tmp_path / "run") is None


def test_a_second_writer_is_refused_with_the_name_of_the_first(tmp_path, other):
    with pytest.raises(DataError, match=f"process {other.pid} on {socket.gethostname()} is writing here"):
        locked(tmp_path / "run").__enter__()
    assert owner(tmp_path / "run").pid == other.pid


def test_a_full_disk_is_said_in_words_and_leaves_no_lock(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.write", full)
        with pytest.raises(StorageError, match="make room on the disk"):
            locked(tmp_path / "run").__enter__()
    assert list((tmp_path / "run").iterdir()) == []


def test_even_in_the_same_process(tmp_path):
    with locked(tmp_path), pytest.raises(DataError, match=r"is writing here"):
        locked(tmp_path).__enter__()


def test_a_killed_owner_is_recognized(tmp_path, other, caplog):
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert (tmp_path / "run" / LOCK_NAME).exists()
    assert owner(tmp_path / "run") is None
    with caplog.at_level(logging.INFO), locked(tmp_path / "run"):
        assert owner(tmp_path / "run").pid == os.getpid()
    assert f"process {other.pid} on {socket.gethostname()} was writing here and is gone" in caplog.text


def test_the_number_of_a_dead_process_may_be_used_again(tmp_path):
    (tmp_path / LOCK_NAME).write_text(json.dumps(Owner(os.getpid(), socket.gethostname(), "1")._asdict()))
    assert owner(tmp_path) is None


def test_without_locks_in_the_file_system_the_name_counts(tmp_path, other, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    with pytest.raises(DataError, match=f"process {other.pid} on"):
        locked(tmp_path / "run").__enter__()
    other.kill()
    other.wait()
    with locked(tmp_path / "run"):
        pass
    (tmp_path / "run" / LOCK_NAME).write_text(json.dumps(Owner(1, "elsewhere", "1")._asdict()))
    with pytest.raises(DataError, match=r"process 1 on elsewhere .* If that process no longer exists, delete .*\.lock"):
        locked(tmp_path / "run").__enter__()


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 999, '{"pid": "x", "host": 1, "born": 2}', "x" * 5000])
def test_a_damaged_lock_is_nobody_s(tmp_path, text):
    (tmp_path / LOCK_NAME).write_text(text)
    assert owner(tmp_path) is None
    with locked(tmp_path):
        pass


def test_six_at_once_and_one_wins(tmp_path):
    command, pipe = [sys.executable, "-c", HOLD, tmp_path], subprocess.PIPE
    tries = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) for _ in range(6)]
    said = [one.stdout.readline() for one in tries]  # the winner waits until all have tried
    for one in tries:
        one.communicate()
    assert sorted(said) == [b""] * 5 + [b"held\n"]

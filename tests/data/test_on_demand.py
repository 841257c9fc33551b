import os
import signal
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch

from reweigh.data.inputs import Rows, rows_of
from reweigh.data.on_demand import OnDemand, fits, shared_memory
from reweigh.errors import DataError


@pytest.mark.parametrize("workers", [1, 4])
def test_like_a_tensor(workers, monkeypatch):
    monkeypatch.setattr("reweigh.data.on_demand.processors", lambda: workers)
    tensor = torch.arange(20.0).reshape(10, 2)
    inputs = OnDemand(lambda place: tensor[place], 10, (2,), torch.float32)
    assert len(inputs) == 10
    for index in (torch.tensor([3, 9, 3]), torch.tensor([-1]), torch.arange(10) > 6, torch.empty(0, dtype=torch.int64)):
        assert torch.equal(inputs[index], tensor[index])
    assert torch.equal(inputs.in_memory(), tensor)


def test_several_are_read_at_a_time(monkeypatch):
    monkeypatch.setattr("reweigh.data.on_demand.processors", lambda: 4)
    together = threading.Barrier(4, timeout=20)

    def read_one(place: int) -> torch.Tensor:
        together.wait()  # passes only when four wait at once
        return torch.tensor([place])

    assert OnDemand(read_one, 4, (1,), torch.int64).in_memory().flatten().tolist() == [0, 1, 2, 3]


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    monkeypatch.setattr("reweigh.data.on_demand.processors", lambda: 2)

    def read_one(place: int) -> torch.Tensor:
        raise OSError(f"no {place}")

    with pytest.raises(OSError, match="no "):
        OnDemand(read_one, 4, (1,)).in_memory()


def test_what_fits():
    assert fits(1000, (3, 10, 10), torch.uint8, 0.0003)
    assert not fits(1000, (3, 10, 10), torch.float32, 0.0003)


def counted(length: int, log: Path, **options: Any) -> OnDemand:
    """Samples that say where they are; each reading adds a byte to a file, whatever process reads."""

    def read_one(index: int) -> torch.Tensor:
        if index == 13:
            raise DataError("13 cannot be read")
        with open(log, "ab") as file:
            file.write(b".")
        return torch.full((2, 3), index, dtype=torch.uint8)

    return OnDemand(read_one, length, (2, 3), **options)


def sums(batches: Iterable[torch.Tensor]) -> list[list[int]]:
    return [batch[:, 0, 0].tolist() for batch in batches]


def test_batches_are_read_ahead_by_other_processes(tmp_path):
    inputs = OnDemand(lambda index: torch.tensor([index, os.getpid()]), 9, (2,), torch.int64)
    batches = [torch.tensor([4, 0, 8]), torch.tensor([1]), torch.tensor([2, 2])]
    state = torch.get_rng_state()
    found = list(inputs.ahead(batches))
    assert [batch[:, 0].tolist() for batch in found] == [index.tolist() for index in batches]
    assert torch.equal(state, torch.get_rng_state())  # nothing is drawn
    if shared_memory():
        assert os.getpid() not in torch.cat(found)[:, 1]
    rows = Rows(inputs, torch.tensor([8, 7, 6]))
    assert [batch[:, 0].tolist() for batch in rows.ahead([torch.tensor([2]), torch.tensor([0, 1])])] == [[6], [8, 7]]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_who_reads_ahead_leaves_signals_to_the_training(signum, monkeypatch):
    """Ctrl-C, torchrun and the scheduler of a cluster send them to all processes of a training."""
    monkeypatch.setattr("reweigh.data.on_demand.processors", lambda: 2)
    inputs = OnDemand(lambda index: torch.tensor([os.getpid()]), 20, (1,), torch.int64)
    batches = inputs.ahead(list(torch.arange(20).split(1)))
    found = [int(next(batches)) for _ in range(4)]
    subprocess.run(["kill", f"-{int(signum)}", *map(str, {*found})], check=True)
    assert {int(batch) for batch in batches} == {*found}
    assert os.getpid() not in found


def test_batches_read_ahead_are_those_read_here():
    """Also the empty share of a process in a small batch."""
    inputs = OnDemand(lambda index: torch.full((2, 3), index), 9, (2, 3), torch.int64)
    batches = [torch.tensor([4, 0]), torch.empty(0, dtype=torch.int64), torch.tensor([8])]
    for found, index in zip(inputs.ahead(batches), batches, strict=True):
        assert torch.equal(found, inputs[index])


@pytest.mark.parametrize("free", [0, 5])
def test_what_cannot_be_shared_is_read_here(monkeypatch, free):
    monkeypatch.setattr("reweigh.data.on_demand.shared_memory", lambda: free)
    inputs = OnDemand(lambda index: torch.tensor([os.getpid()]), 4, (1,), torch.int64)
    assert {int(batch) for batch in inputs.ahead(list(torch.arange(4).split(1)))} == {os.getpid()}


def test_an_error_in_a_process_is_the_error_itself(tmp_path):
    inputs = counted(20, tmp_path / "log")
    with pytest.raises(DataError) as raised:
        list(inputs.ahead(list(torch.arange(20).split(5))))
    assert str(raised.value) == "13 cannot be read"


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="needs posix_fallocate")
def test_samples_that_are_kept_are_read_once(tmp_path):
    log, batches = tmp_path / "log", [torch.tensor([5, 1, 0]), torch.tensor([2, 1, 8])]
    inputs = counted(9, log)
    inputs.keep(0, 1)
    for _ in range(2):  # by other processes, and then here
        assert sums(inputs.ahead(batches)) == [[5, 1, 0], [2, 1, 8]]
        assert inputs[torch.tensor([8, 5])][:, 1, 2].tolist() == [8, 5]
    assert len(log.read_bytes()) in (5, 6)  # two processes may read sample 1 at the same time
    part = counted(9, tmp_path / "other")
    part.keep(1, 3)  # samples 1, 4 and 7
    for _ in range(3):
        assert part[torch.arange(9)][:, 0, 0].tolist() == list(range(9))
    assert len((tmp_path / "other").read_bytes()) == 3 + 3 * 6


def test_nothing_is_kept_where_there_is_no_room(tmp_path):
    log = tmp_path / "log"
    inputs = counted(9, log, disk_gb=1e-9)
    inputs.keep(0, 1)
    for _ in range(2):
        inputs[torch.tensor([3])]
    assert len(log.read_bytes()) == 2


def test_rows_of_rows_are_rows_of_the_same_inputs():
    inputs = OnDemand(lambda row: torch.tensor([row]), 10, (1,), torch.int64)
    some = rows_of(rows_of(inputs, torch.arange(9, -1, -2)), torch.tensor([3, 0]))
    assert isinstance(some, Rows)
    assert some.inputs is inputs
    assert some[torch.arange(2)].flatten().tolist() == [3, 9]

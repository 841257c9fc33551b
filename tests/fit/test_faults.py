"""Disks fill, folders move and processes die: the folder says how it stands, and --resume completes it."""

import errno
import os
import random
import shutil
import time
from pathlib import Path

import pytest

from reweigh.errors import DataError, StorageError
from reweigh.files.lock import locked
from reweigh.fit.run_folder import begin, resume
from reweigh.recipes.read import check, read
from reweigh.training import Run
from reweigh.training.run import damage, missing, status


@pytest.fixture
def plan():
    return check(read("demo", ["train.epochs=3", "model.hidden=[8]", "method.name=erm"]))


class At:
    """Does something after an epoch."""

    def __init__(self, epoch, act):
        self.when, self.act = epoch, act

    def start(self, epochs, steps, done):
        pass

    def step(self, epoch, step, means):
        pass

    def epoch(self, line):
        if line["epoch"] == self.when:
            self.act()

    def stop(self):
        pass


def full_after(monkeypatch, name):
    """A disk that is full when a file of that name is written, and from then on."""
    replace, full = os.replace, []

    def fail(source, target):
        if full or str(target).endswith(name):
            full.append(target)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)


@pytest.mark.parametrize("name", ["inputs.json", "model.safetensors", "samples.csv"])
def test_a_disk_that_fills_after_training(plan, tmp_path, monkeypatch, name):
    whole = begin(plan, tmp_path / "whole").run
    with monkeypatch.context() as patch:
        full_after(patch, name)
        with pytest.raises(StorageError) as caught:
            begin(plan, tmp_path / "run")
    run = Run(tmp_path / "run")
    assert str(caught.value).startswith(
        f"{run.path}: {name} cannot be written there (No space left on device); make room"
    )
    assert (
        f"Training is done, and its checkpoint is kept; then write the results with: reweigh train --resume {run.path}"
        in str(caught.value)
    )
    assert status(run) == "incomplete"
    assert name in [file.name for file in missing(run)]
    resume(run.path)
    assert status(run) == "finished"
    assert damage(run) == []
    assert run.model.read_bytes() == whole.model.read_bytes()
    assert run.samples.read_bytes() == whole.samples.read_bytes()


def test_a_disk_that_fills_in_training(plan, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        full_after(patch, "summary.json")
        with pytest.raises(StorageError, match=r"summary.json cannot be written there"):
            begin(plan, tmp_path / "run")
    assert status(Run(tmp_path / "run")) == "interrupted"  # never "running": no process is there
    resume(tmp_path / "run")
    assert status(Run(tmp_path / "run")) == "finished"


def test_a_folder_that_becomes_read_only_in_the_middle(plan, tmp_path, monkeypatch):
    path, whole = tmp_path / "run", begin(plan, tmp_path / "whole").run

    def protect():
        def fail(*arguments, **options):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        monkeypatch.setattr(os, "replace", fail)
        monkeypatch.setattr(Path, "unlink", fail)

    with pytest.raises(StorageError, match=r"cannot be written there .* the disk is read-only"):
        begin(plan, path, At(2, protect))
    monkeypatch.undo()
    assert status(Run(path)) == "interrupted"
    resume(path)
    assert status(Run(path)) == "finished"
    assert Run(path).model.read_bytes() == whole.model.read_bytes()


def test_a_clock_that_jumps_changes_nothing(plan, tmp_path, monkeypatch):
    draw, whole = random.Random(0), begin(plan, tmp_path / "whole").run
    monkeypatch.setattr(time, "time", lambda: draw.uniform(-1e10, 1e10))
    monkeypatch.setattr(time, "time_ns", lambda: draw.randrange(-(10**18), 10**18))
    run = begin(plan, tmp_path / "run").run
    monkeypatch.undo()
    assert status(run) == "finished"
    assert damage(run) == []
    for name in ("model", "samples", "classes", "inputs", "test"):
        assert getattr(run, name).read_bytes() == getattr(whole, name).read_bytes()


def test_a_folder_that_is_moved_in_the_middle_and_put_back(plan, tmp_path):
    path = tmp_path / "run"
    with pytest.raises((StorageError, DataError), match=r"cannot be written there .* the folder is gone"):
        begin(plan, path, At(2, lambda: path.rename(tmp_path / "moved")))
    assert status(Run(tmp_path / "moved")) == "interrupted"
    (tmp_path / "moved").rename(path)
    resume(path)
    assert status(Run(path)) == "finished"


def test_a_folder_that_is_deleted_in_the_middle(plan, tmp_path):
    path = tmp_path / "run"
    with pytest.raises((StorageError, DataError), match="the folder is gone"):
        begin(plan, path, At(2, lambda: shutil.rmtree(path)))
    assert not path.exists()


def test_a_run_has_one_writer(plan, tmp_path):
    path = tmp_path / "run"

    def again():
        assert status(Run(path)) == "running"
        for attempt in (lambda: resume(path), lambda: begin(plan, path, overwrite=True)):
            with pytest.raises(DataError, match=rf"run: process {os.getpid()} on .* is writing here"):
                attempt()

    begin(plan, path, At(2, again))
    assert status(Run(path)) == "finished"
    with locked(path), pytest.raises(DataError, match="is writing here"):
        resume(path)

"""Nothing that is read back is trusted blindly: bits that flip, files cut short or swapped are noticed and named."""

import random
import re
import shutil

import pytest

from reweigh.errors import DataError, ReweighError
from reweigh.fit.run_folder import begin, load_model, resume
from reweigh.recipes.check import check
from reweigh.recipes.read import read
from reweigh.report.read import read_account
from reweigh.training import Run
from reweigh.training.status import damage, missing, status

SHORT = ["train.epochs=3", "model.hidden=[8]", "train.calibration=0.1", "train.checkpoint_steps=3"]
FLIPS = 60


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return begin(check(read("demo", SHORT)), tmp_path_factory.mktemp("damage") / "run").run


@pytest.fixture
def run(trained, tmp_path):
    return Run(shutil.copytree(trained.path, tmp_path / "run"))


def changed(data: bytes, draw: random.Random) -> bytes:
    """A flipped bit, a lost end, or two swapped pieces."""
    kind, at = draw.randrange(3), draw.randrange(len(data))
    if kind == 0:
        return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
    if kind == 1:
        return data[:at]
    size = max(1, min(16, len(data) // 4))
    one, two = sorted(draw.sample(range(0, len(data) - size, size), 2))
    return data[:one] + data[two : two + size] + data[one + size : two] + data[one : one + size] + data[two + size :]


def test_a_whole_run_has_no_damage(run):
    assert damage(run) == []
    assert status(run) == "finished"
    assert missing(run) == []


def test_all_damage_is_noticed_and_named(run):
    draw = random.Random(0)
    files = [run.recipe, *(file for file in run.results if file.exists()), run.checkpoint, run.previous]
    assert len(files) == 12
    for _ in range(FLIPS):
        file = draw.choice(files)
        whole = file.read_bytes()
        broken = changed(whole, draw)
        file.write_bytes(broken)
        found = damage(run)
        if broken != whole:
            assert len(found) == 1
            assert str(file) in found[0]
        file.write_bytes(whole)
    assert damage(run) == []


@pytest.mark.parametrize("name", ["recipe", "model", "inputs", "classes"])
def test_a_damaged_file_is_not_used_to_predict(run, name):
    file = getattr(run, name)
    file.write_bytes(changed(file.read_bytes(), random.Random(1)))
    with pytest.raises(DataError, match=re.escape(f"{file}: damaged or changed since it was written")):
        load_model(run.path)


@pytest.mark.parametrize("name", ["recipe", "weighting", "samples", "test", "classes", "metrics", "summary"])
def test_a_damaged_file_is_not_shown(run, name):
    file = getattr(run, name)
    file.write_bytes(changed(file.read_bytes(), random.Random(2)))
    with pytest.raises(ReweighError, match=re.escape(str(file))):
        read_account(run.path, "run")


def test_a_model_of_another_run_is_noticed(run, tmp_path):
    other = begin(check(read("demo", [*SHORT, "train.seed=1"])), tmp_path / "other").run
    shutil.copy(other.model, run.model)
    with pytest.raises(DataError, match="damaged or changed"):
        load_model(run.path)
    shutil.copy(other.checkpoint, run.checkpoint)
    with pytest.raises(DataError, match="does not fit this run"):
        resume(run.path)


def test_a_checkpoint_of_another_recipe_is_noticed(run, tmp_path):
    other = begin(check(read("demo", [*SHORT, "optimizer.lr=0.011"])), tmp_path / "other").run
    shutil.copy(other.checkpoint, run.checkpoint)
    with pytest.raises(DataError, match=r"does not fit this run \(ValueError: written with .*recipe"):
        resume(run.path)


def test_the_checkpoint_before_is_offered_and_leads_to_the_same_end(run, trained):
    whole = {
        file: file.read_bytes() for file in (*run.results, run.checkpoint) if file.exists() and file != run.summary
    }
    run.checkpoint.write_bytes(changed(run.checkpoint.read_bytes(), random.Random(3)))
    with pytest.raises(DataError, match=rf"the checkpoint before it is good .* delete {run.checkpoint} and resume"):
        resume(run.path)
    run.checkpoint.unlink()
    resume(run.path)
    for file in (run.metrics, run.checkpoint):
        whole.pop(file)  # they hold the time that the last epoch took
    assert {file: file.read_bytes() for file in whole} == whole
    assert damage(run) == []


def test_two_damaged_checkpoints_leave_only_a_copy(run):
    for file in (run.checkpoint, run.previous):
        file.write_bytes(b"x")
    with pytest.raises(DataError, match="restore the file from a copy, or train again with --overwrite"):
        resume(run.path)

"""Nothing that is read back is trusted blindly: bits that flip, files cut short or swapped are noticed and named."""

import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import reweigh
from reweigh import RobustClassifier
from reweigh.errors import DataError, ReweighError
from reweigh.files.row_cache import RowCache, digest, parts
from reweigh.files.whole import SUMS_NAME as SUMS
from reweigh.files.whole import sums
from reweigh.fit import store
from reweigh.fit.decisions import Decision, Decisions
from reweigh.fit.run_folder import begin, load_model, resume
from reweigh.recipes.read import check, read
from reweigh.runs.read import read_account
from reweigh.training import Run
from reweigh.training.run import damage, missing, status
from reweigh.weighting import load_weighting

SHORT = ["train.epochs=3", "model.hidden=[8]", "train.abstain=0.1", "train.checkpoint_steps=3"]
FLIPS = 6  # of each kind of file


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


def of_the_run(name):
    """A file of a run, by the name of its property."""
    return lambda folder: (getattr(Run(folder / "run"), name), lambda: raised(damage(Run(folder / "run"))))


def raised(found):
    if found:
        raise DataError("; ".join(found))


def checksums(folder):
    return folder / "run" / SUMS, lambda: sums(folder / "run")


def classifier(folder):
    return folder / "classifier", lambda: store.load(folder / "classifier")


def weighting(folder):
    return folder / "w.safetensors", lambda: load_weighting(folder / "w.safetensors")


def cached(folder):
    """A part of a cache that cannot be trusted is computed again, with a warning."""
    cache = RowCache("net", 3)
    cache.add(ROWS, torch.arange(6.0).view(2, 3))
    (file,) = parts(cache.folder)

    def read_rows():
        rows = torch.zeros(2, 3)
        if bool(cache.fill(ROWS, rows).any()):
            raise DataError(f"{file}: computed again")
        assert rows.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

    return file, read_rows


ROWS = [digest(b"one"), digest(b"two")]
FOR_PEOPLE = "not read back"
# Who writes files, and the files of theirs that are read back: for each, the path and what reads it
FILES = {
    "training/run.py": {name: of_the_run(name) for name in ("recipe", "metrics", "summary", "model", "samples", "test",
                                                            "abstain", "classes")},
    "training/checkpoint.py": {name: of_the_run(name) for name in ("checkpoint", "previous", "warmed_up")},
    "fit/run_folder.py": {"inputs": of_the_run("inputs")},
    "fit/decisions.py": {"decisions": of_the_run("decisions")},
    "weighting/saved.py": {"weighting": of_the_run("weighting"), "a weighting function alone": weighting},
    "fit/store.py": {"a classifier": classifier},
    "files/whole.py": {"checksums": checksums},
    "files/row_cache.py": {"cached features": cached},
    **dict.fromkeys(("report/page.py", "cli/compare.py", "cli/export.py", "cli/issues.py", "cli/predict.py",
                     "cli/corrupt.py", "cli/torchrun.py", "runs/correction.py"), FOR_PEOPLE),
}  # fmt: skip
KINDS = {name: kind for kinds in FILES.values() if kinds is not FOR_PEOPLE for name, kind in kinds.items()}
OF_VOTES = {"votes", "labelers", "next_labels"}  # tables under the same checksums, of labels by several labelers
NO_TABLE = {"held_out", "report"} | OF_VOTES  # of data without a part to test on; for people


def test_the_table_lists_every_file_that_is_written():
    source = Path(reweigh.__file__).parent
    calls = re.compile(r"(?<!def )\b(write_whole|append_line|ledger\.append)\(")
    writers = {str(file.relative_to(source)) for file in source.rglob("*.py") if calls.search(file.read_text())}
    assert writers == FILES.keys()
    of_a_run = {name for name, its in vars(Run).items() if isinstance(its, property) and name != "results"}
    assert of_a_run - NO_TABLE <= KINDS.keys()


@pytest.fixture(scope="module")
def written(trained, tmp_path_factory):
    """One good file of each kind."""
    folder = tmp_path_factory.mktemp("written")
    run = Run(shutil.copytree(trained.path, folder / "run"))
    for row in range(8):
        Decisions(run.decisions).add(Decision(row, "3", "5" if row % 2 else None, "ann"))
    shutil.copy(run.weighting, folder / "w.safetensors")
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    RobustClassifier(epochs=1, method="erm", model="mlp").fit(X, y).save(folder / "classifier")
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_all_damage_is_noticed_and_named(written, monkeypatch, tmp_path, kind):
    monkeypatch.setenv("REWEIGH_CACHE", str(tmp_path))
    draw = random.Random(kind)
    file, use = KINDS[kind](written)
    whole = file.read_bytes()
    for _ in range(FLIPS):
        use()  # good, so far
        broken = changed(whole, draw)
        if broken == whole or (kind == "decisions" and whole.startswith(broken)):
            continue  # a list that lost its end is that of an earlier time: the run that used more of it notices
        file.write_bytes(broken)
        with pytest.raises(ReweighError, match=re.escape(str(file))):
            use()
        file.write_bytes(whole)


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

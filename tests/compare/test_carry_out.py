"""A comparison makes what is missing and nothing else; a failure stays alone; methods start from the same place."""

import pytest
import torch
from safetensors.torch import load_file

from reweigh.compare import carry_out as comparison
from reweigh.compare.carry_out import carry_out, read_row
from reweigh.compare.grid import Key, plan
from reweigh.errors import DataError, RecipeError
from reweigh.fit import run_folder
from reweigh.fit.source import read_source
from reweigh.fit.trainer import Trainer, builder, own_randomness
from reweigh.methods import METHODS
from reweigh.models.ensemble import strongest
from reweigh.training import Run
from reweigh.training.progress import Series

SHORT = ["train.epochs=1", "train.warmup_epochs=0", "train.batch_size=256", "model.hidden=[8]", "train.num_threads=1"]


@pytest.fixture
def assembled(monkeypatch):
    """Which runs read the data and built a model, in order."""
    found = []

    def counting(plan):
        found.append((plan.method.name, plan.train["seed"]))
        return read_source(plan)

    monkeypatch.setattr(run_folder, "read_source", counting)
    return found


def assemble(plan):
    """The training set of a plan, and the state of its model before training."""
    train_set = read_source(plan).train
    with own_randomness(plan.train["seed"]):
        setup = Trainer(plan, builder(plan.model), torch.device("cpu")).assemble(train_set).setup
    return train_set, setup.model.state_dict()


LAST = {"4.weight", "4.bias"}  # a method may bring another last layer


def test_methods_of_one_bias_and_seed_share_wrong_labels_and_initial_weights():
    """By construction, whatever the method: data are drawn from the seed, and it is set anew before the model."""
    planned = plan("demo", ["train.epochs=2", "model.hidden=[8]"], list(METHODS), ["symmetric-0.4"], seeds=2)
    (train_set, weights), *others = (assemble(planned[Key("symmetric-0.4", method, 0)]) for method in METHODS)
    assert (train_set.labels != train_set.true_labels).any()
    for other, model in others:
        assert torch.equal(other.labels, train_set.labels)
        model = strongest(model)  # an ensemble counts its first member at the start
        assert all(torch.equal(model[name], weights[name]) for name in weights.keys() & model.keys() - LAST)
    elsewhere, model = assemble(planned[Key("symmetric-0.4", "erm", 1)])
    assert not torch.equal(elsewhere.labels, train_set.labels)
    assert any(not torch.equal(model[name], weights[name]) for name in weights)


def test_rows_come_as_planned_and_can_be_read_again(tmp_path):
    planned = plan("demo", SHORT, ["erm", "cmw-net"], ["clean", "symmetric-0.4"], seeds=1)
    rows = carry_out(planned, tmp_path)
    assert [Key(row.bias, row.method, row.seed) for row in rows] == list(planned)
    assert rows == [read_row(recipe, key.path(tmp_path), key.bias) for key, recipe in planned.items()]
    assert all(row.status == "finished" and row.last == 100 * row.last_epoch["test_accuracy"] for row in rows)


def test_resuming_makes_only_what_is_missing(tmp_path, assembled):
    planned = plan("demo", SHORT, ["erm", "cmw-net"], seeds=2)
    first, second, *_ = planned
    done = carry_out({first: planned[first]}, tmp_path)
    carry_out({second: planned[second]}, tmp_path)
    Run(second.path(tmp_path)).write_summary({"status": "interrupted"})
    third = Run.create(Key("", "cmw-net", 0).path(tmp_path), (first.path(tmp_path) / "recipe.toml").read_text())
    for file in (third.recipe, third.path / "SHA256SUMS"):  # a folder that never became a run
        file.unlink()
    assembled.clear()
    rows = carry_out(planned, tmp_path, resume=True)
    assert assembled == [("erm", 1), ("cmw-net", 0), ("cmw-net", 1)]
    assert rows[0] == done[0]
    assert [row.status for row in rows] == ["finished"] * 4
    assembled.clear()
    assert carry_out(planned, tmp_path, resume=True) == rows
    assert assembled == []
    assert len(carry_out(planned, tmp_path, overwrite=True)) == len(assembled) == 4


def test_nothing_begins_where_something_is(tmp_path, assembled):
    planned = plan("demo", SHORT, ["erm"], seeds=1)
    carry_out(planned, tmp_path)
    assembled.clear()
    more = plan("demo", SHORT, ["cmw-net", "erm"], seeds=1)
    with pytest.raises(DataError, match=r"erm-seed0: exists already; continue with --resume"):
        carry_out(more, tmp_path)
    other = plan("demo", [*SHORT, "train.batch_size=128"], ["cmw-net", "erm"], seeds=1)
    with pytest.raises(DataError, match=r"erm-seed0: started with another recipe; replace them with --overwrite"):
        carry_out(other, tmp_path, resume=True)
    with pytest.raises(DataError, match=r"erm-seed0: is the folder of a run; choose another one"):
        carry_out(more, tmp_path / "erm-seed0", overwrite=True)
    with pytest.raises(RecipeError, match="workers: got 0; should be at least 1"):
        carry_out(more, tmp_path, workers=0)
    assert assembled == []
    assert not (tmp_path / "cmw-net-seed0").exists()


class Told(Series):
    """Remembers what it was told."""

    def __init__(self):
        super().__init__()
        self.words = []

    def start(self, runs, done):
        self.words.append((runs, done))

    def end(self, label, last, error):
        self.words.append((label, error and error.partition(":")[0]))


def test_a_run_that_fails_leaves_the_others_alone(tmp_path):
    planned = plan("demo", [*SHORT, "compare.erm.optimizer.lr=1e30"], ["erm", "cmw-net"], seeds=1)
    told = Told()
    diverged, good = carry_out(planned, tmp_path, series=told)
    assert (diverged.status, diverged.last) == ("diverged", None)
    assert diverged.error is not None
    assert diverged.error.startswith("DivergedError: the ")
    assert (good.status, good.error) == ("finished", None)
    assert told.words == [(2, 0), ("erm, seed 0", "DivergedError"), ("cmw-net, seed 0", None)]


def test_an_error_of_our_own_is_told_with_its_traceback(tmp_path, monkeypatch):
    def broken(*arguments):
        raise TypeError("oh no")

    monkeypatch.setattr(comparison, "begin", broken)
    (row,) = carry_out(plan("demo", SHORT, ["erm"], seeds=1), tmp_path)
    assert (row.status, row.last) == ("failed", None)
    assert row.error is not None
    assert "Traceback" in row.error
    assert "TypeError: oh no" in row.error


def test_an_interrupt_says_how_far_it_came(tmp_path, monkeypatch):
    planned = plan("demo", SHORT, ["erm"], seeds=3)
    begin, told = run_folder.begin, Told()

    def interrupted(recipe, *arguments):
        if recipe.train["seed"] == 1:
            raise KeyboardInterrupt
        return begin(recipe, *arguments)

    monkeypatch.setattr(comparison, "begin", interrupted)
    with pytest.raises(KeyboardInterrupt, match="interrupted; 1 of 3 runs are done"):
        carry_out(planned, tmp_path, series=told)
    assert told.words == [(3, 0), ("erm, seed 0", None)]
    assert not (tmp_path / "erm-seed2").exists()


def test_each_run_has_the_threads_that_it_would_have_alone(tmp_path, monkeypatch):
    seen, begin, before = [], run_folder.begin, torch.get_num_threads()

    def looking(recipe, *arguments):
        seen.append(torch.get_num_threads())
        return begin(recipe, *arguments)

    monkeypatch.setattr(comparison, "begin", looking)
    overrides = [word for word in SHORT if "threads" not in word]
    planned = plan("demo", [*overrides, f"compare.erm.train.num_threads={before + 1}"], ["erm", "cmw-net"], seeds=1)
    try:
        carry_out(planned, tmp_path)
    finally:
        torch.set_num_threads(before)
    assert seen == [before, before]


def test_workers_come_to_the_same_numbers_bit_for_bit(tmp_path):
    overrides = [*SHORT, "compare.erm.optimizer.lr=1e30"]
    planned = plan("demo", overrides, ["erm", "cmw-net"], ["symmetric-0.4"], seeds=1)
    alone = carry_out(planned, tmp_path / "alone")
    together = carry_out(planned, tmp_path / "together", workers=2)
    for one, other in zip(alone, together, strict=True):
        assert (one.method, one.status, one.last, one.best) == (other.method, other.status, other.last, other.best)
        if one.status == "diverged":
            assert other.error is not None
            assert other.error.startswith("DivergedError")
            continue
        assert {**one.last_epoch, "seconds": 0} == {**other.last_epoch, "seconds": 0}
        models = [load_file(Run(tmp_path / row.run).model) for row in (one, other)]
        assert all(torch.equal(models[0][name], models[1][name]) for name in models[0])


def test_what_several_processes_cannot_train_together_is_refused_before_any_training(tmp_path, assembled, monkeypatch):
    planned = plan("demo", SHORT, ["erm", "sade", "oltr"], seeds=1)
    monkeypatch.setattr(comparison.processes, "several", lambda: True)
    with pytest.raises(RecipeError, match=r"methods: oltr, sade cannot run in several processes.* without torchrun"):
        carry_out(planned, tmp_path / "new")
    assert not assembled
    assert not (tmp_path / "new").exists()

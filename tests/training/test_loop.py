import json
import logging
import math
import os
import random
import signal
import threading
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from reweigh.core.objective import Batch
from reweigh.data.dataset import Reading
from reweigh.errors import DataError, DivergedError, RecipeError
from reweigh.training import SCHEDULES, Interrupted, Run, seed_all, train
from reweigh.training.loop import batch_bounds
from reweigh.training.randomness import epoch_order

EPOCHS, STEPS = 4, 5  # of tiny.begin: 61 samples in batches of 12, the last of 13


def weights(method) -> dict[str, list]:
    return {name: value.tolist() for name, value in method.model.state_dict().items()}


def timeless(lines) -> list[dict]:
    return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]


@pytest.fixture
def run(tmp_path) -> Run:
    return Run.create(tmp_path / "run", "")


@pytest.fixture(scope="module")
def whole(tiny):
    """Weights, sample weights and lines of a run that was never interrupted."""
    torch.set_num_threads(1)
    method, result = tiny.begin(None)
    return weights(method), method.weights.tolist(), timeless(result.history)


def outcome(method, result):
    return weights(method), method.weights.tolist(), timeless(result.history)


def interrupting(tiny, at: int, act):
    """A method that calls ``act`` in the step of that number, counted from 1 over its life."""

    class Interrupting(tiny.Tiny):
        steps = 0

        def step(self, batch):
            self.steps += 1
            if self.steps == at:
                act()
            return super().step(batch)

    return Interrupting


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_a_plain_loop_gives_the_same_weights(tiny, whole):
    """The oracle: no checkpoints, no observer, the shuffle and the cosine written out."""
    seed_all(3)
    generator = torch.Generator().manual_seed(3)
    data, method = tiny.dataset(), tiny.Tiny(generator)
    for epoch in range(EPOCHS):
        method.optimizer.param_groups[0]["lr"] = 0.05 * (1 + math.cos(math.pi * epoch / EPOCHS)) / 2
        method.start_epoch(epoch, epoch < 1)
        order = epoch_order(61, 3, epoch)
        for index in [order[0:12], order[12:24], order[24:36], order[36:48], order[48:61]]:
            method.step(Batch(tiny.noise(data.inputs[index], generator), data.labels[index], index))
    assert weights(method) == whole[0]


def test_epochs_steps_and_warm_up(tiny):
    method, _ = tiny.begin(None, epochs=3, warmup_epochs=2)
    starts = [call for call in method.calls if not isinstance(call, Batch)]
    assert starts == [(0, True), (1, True), (2, False)]
    batches = [call for call in method.calls if isinstance(call, Batch)]
    assert [len(batch.index) for batch in batches] == [12, 12, 12, 12, 13] * 3
    orders = [torch.cat([batch.index for batch in batches[i : i + 5]]) for i in (0, 5, 10)]
    assert all(torch.equal(order.sort().values, torch.arange(61)) for order in orders)
    assert not torch.equal(orders[0], orders[1])


def test_a_line_an_epoch(tiny, run):
    _, result = tiny.begin(run)
    lines = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    assert lines == result.history
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4]
    names = ["epoch", "lr", "train_loss", "train_accuracy", "train_weight", "test_accuracy", "test_balanced_accuracy"]
    names.append("test_log_loss")
    assert list(lines[0]) == [*names, "seconds"]
    assert [line["lr"] for line in lines] == pytest.approx([0.05, 0.05 * 0.853553, 0.025, 0.05 * 0.146447], rel=1e-5)
    assert lines[0]["train_weight"] == 1.0  # warm-up
    assert lines[1]["train_weight"] < 1.0
    assert result.last == lines[-1]
    assert result.best["test_accuracy"] == max(line["test_accuracy"] for line in lines)
    summary = json.loads(run.summary.read_text())
    assert (summary["status"], summary["epochs_done"]) == ("finished", 4)
    assert (summary["best"], summary["last"]) == (result.best, result.last)


def test_it_learns(tiny):
    _, result = tiny.begin(None, epochs=30)
    assert result.last["test_accuracy"] > result.history[0]["test_accuracy"] + 0.2


def test_without_evaluation(tiny):
    _, result = tiny.begin(None, evaluate=None)
    assert not [name for name in result.last if name.startswith("test_")]
    assert result.best == result.last


def test_a_run_folder_changes_nothing(tiny, run, whole):
    assert outcome(*tiny.begin(run, checkpoint_steps=2)) == whole


@pytest.mark.parametrize("at", range(1, EPOCHS * STEPS + 1))
def test_ctrl_c_at_any_step_then_resume(tiny, run, whole, at):
    with pytest.raises(Interrupted) as caught:
        tiny.begin(run, interrupting(tiny, at, press))
    epoch, step = divmod(at - 1, STEPS)
    where, how = str(caught.value).split("; ")
    assert where == f"interrupted in epoch {epoch + 1} of 4 after step {step + 1} of 5"
    assert how == f"continue with: reweigh train --resume {run.path}"
    assert caught.value.path == run.path
    assert isinstance(caught.value, KeyboardInterrupt)
    assert json.loads(run.summary.read_text())["status"] == "interrupted"
    method, result = tiny.begin(Run.open(run.path))
    assert outcome(method, result) == whole
    assert timeless(run.read_metrics()) == whole[2]
    assert sum(isinstance(call, Batch) for call in method.calls) == EPOCHS * STEPS - at  # nothing is done twice


def test_many_interruptions(tiny, run, whole):
    rng = random.Random(0)
    lives = 0
    while True:
        lives += 1
        try:
            method, result = tiny.begin(Run.open(run.path), interrupting(tiny, rng.randint(1, 3), press))
            break
        except Interrupted:
            continue
    assert lives > 5
    assert outcome(method, result) == whole
    assert timeless(run.read_metrics()) == whole[2]


def test_seconds_of_earlier_lives_count(tiny, run, monkeypatch):
    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr("reweigh.training.loop.time.perf_counter", lambda: next(clock))
    with pytest.raises(Interrupted):
        tiny.begin(run, interrupting(tiny, 2, press))
    next(clock)  # between the two lives
    _, result = tiny.begin(run)
    assert result.history[0]["seconds"] == 20  # two looks at the clock in each life


def test_ctrl_c_while_evaluating(tiny, run, whole):
    def evaluate(model):
        press()
        return {"accuracy": 0.5}

    with pytest.raises(Interrupted, match="epoch 2 of 4 after step 0"):
        tiny.begin(run, evaluate=evaluate)
    assert weights(tiny.begin(run)[0]) == whole[0]


def test_ctrl_c_in_the_last_evaluation(tiny, run, whole):
    evaluated = []

    def evaluate(model):
        evaluated.append(model)
        if len(evaluated) == 4:
            press()
        return {"accuracy": 0.5}

    with pytest.raises(Interrupted, match="interrupted after the last epoch; continue with: reweigh train --resume"):
        tiny.begin(run, evaluate=evaluate)
    assert weights(tiny.begin(run)[0]) == whole[0]


def test_the_second_ctrl_c_does_not_wait(tiny, run, whole):
    def twice():
        press()
        press()

    with pytest.raises(Interrupted):
        tiny.begin(run, interrupting(tiny, 8, twice), checkpoint_steps=3)
    method, result = tiny.begin(run)
    assert outcome(method, result) == whole
    assert sum(isinstance(call, Batch) for call in method.calls) == EPOCHS * STEPS - 6  # from the checkpoint before


def test_keyboard_interrupt_within_a_step_keeps_the_checkpoint_before(tiny, run, whole):
    def raise_it():
        raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        tiny.begin(run, interrupting(tiny, 8, raise_it))
    assert outcome(*tiny.begin(run)) == whole


def test_ctrl_c_without_a_run_folder(tiny):
    with pytest.raises(Interrupted, match="nothing was saved") as caught:
        tiny.begin(None, interrupting(tiny, 2, press))
    assert caught.value.path is None


def test_the_signal_handler_is_put_back(tiny):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted):
        tiny.begin(None, interrupting(tiny, 2, press))
    assert signal.getsignal(signal.SIGINT) is before


def test_trains_outside_of_the_main_thread(tiny):
    results = []
    thread = threading.Thread(target=lambda: results.append(tiny.begin(None)))
    thread.start()
    thread.join()
    assert len(results[0][1].history) == EPOCHS


def test_a_finished_run_returns_at_once(tiny, run):
    first = tiny.begin(run)
    second = tiny.begin(run)
    assert outcome(*first) == outcome(*second)
    assert second[0].calls == []
    assert len(run.read_metrics()) == EPOCHS


def test_lines_past_the_checkpoint_are_cut(tiny, run, whole):
    with pytest.raises(Interrupted):
        tiny.begin(run, interrupting(tiny, 12, press))
    with open(run.metrics, "a") as file:
        file.write('{"epoch": 3, "train_loss": 9}\n{"epoch": 4, "tr')
    tiny.begin(run)
    assert timeless(run.read_metrics()) == whole[2]


def breaking(tiny, at: int, what: str):
    class Breaking(tiny.Tiny):
        steps = 0

        def step(self, batch):
            self.steps += 1
            numbers = super().step(batch)
            if self.steps == at and what == "parameter":
                self.model[0].weight.data[0, 0] = torch.inf
            return {**numbers, "loss": math.nan} if self.steps == at and what == "loss" else numbers

    return Breaking


def test_a_loss_that_is_nan(tiny, run, whole):
    with pytest.raises(DivergedError) as caught:
        tiny.begin(run, breaking(tiny, 13, "loss"), checkpoint_steps=2)
    assert "the loss is nan in epoch 3 of 4, step 3 of 5, at learning rate 0.025" in str(caught.value)
    assert f"The last good checkpoint is kept: {run.checkpoint}" in str(caught.value)
    summary = json.loads(run.summary.read_text())
    assert (summary["status"], summary["epochs_done"]) == ("diverged", 2)
    method, result = tiny.begin(run)
    assert outcome(method, result) == whole
    assert sum(isinstance(call, Batch) for call in method.calls) == EPOCHS * STEPS - 12


@pytest.mark.parametrize(("at", "step"), [(14, 4), (15, 5)])
def test_parameters_that_are_not_finite_are_not_saved(tiny, run, whole, at, step):
    """The loss of that step is still a number; a checkpoint after it would be lost."""
    with pytest.raises(
        DivergedError, match=rf"the parameter 0.weight is no longer finite in epoch 3 of 4, step {step} of 5"
    ):
        tiny.begin(run, breaking(tiny, at, "parameter"), checkpoint_steps=14)
    assert outcome(*tiny.begin(run)) == whole


def test_diverged_before_any_checkpoint(tiny, run):
    with pytest.raises(DivergedError) as caught:
        tiny.begin(run, breaking(tiny, 1, "loss"))
    assert "checkpoint" not in str(caught.value)


def test_a_full_disk_keeps_the_previous_checkpoint(tiny, run, whole, monkeypatch):
    """The disk is full from the middle of the second epoch on."""

    def fill():
        def full(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)

    with pytest.raises(DataError, match="No space left on device"):
        tiny.begin(run, interrupting(tiny, 8, fill), checkpoint_steps=3)
    monkeypatch.undo()
    method, result = tiny.begin(run)
    assert outcome(method, result) == whole
    assert sum(isinstance(call, Batch) for call in method.calls) == EPOCHS * STEPS - 6


@pytest.mark.parametrize("options", [{"seed": 4}, {"batch_size": 10}])
def test_a_checkpoint_of_another_run(tiny, run, options):
    with pytest.raises(Interrupted):
        tiny.begin(run, interrupting(tiny, 12, press))
    before = {file: file.read_bytes() for file in run.path.rglob("*") if file.is_file()}
    with pytest.raises(DataError, match="does not fit this run"):
        tiny.begin(run, **options)
    assert {file: file.read_bytes() for file in run.path.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("change", ["labels", "names", "number"])
def test_data_that_have_changed_since_the_checkpoint(tiny, run, change):
    names = tuple(map(str, range(61)))
    data = replace(tiny.dataset(), reading=Reading(names))
    others = {
        "labels": replace(data, labels=data.labels.flip(0)),
        "names": replace(data, reading=Reading(names[1:] + names[:1])),
        "number": data.subset(torch.arange(60)),
    }
    with pytest.raises(Interrupted):
        tiny.begin(run, interrupting(tiny, 12, press), data)
    with pytest.raises(DataError, match=r"the training data have changed since .* put them back as they were"):
        tiny.begin(run, data=others[change])
    tiny.begin(run, data=data)


def test_a_checkpoint_of_another_model(tiny, run):
    class Other(tiny.Tiny):
        def __init__(self, generator):
            super().__init__(generator)
            self.model = nn.Sequential(nn.Linear(6, 3))

    tiny.begin(run)
    before = run.checkpoint.read_bytes()
    with pytest.raises(DataError, match="does not fit this run"):
        tiny.begin(run, Other)
    assert run.checkpoint.read_bytes() == before


def test_a_truncated_checkpoint(tiny, run):
    tiny.begin(run)
    run.checkpoint.write_bytes(run.checkpoint.read_bytes()[:-100])
    before = {file: file.read_bytes() for file in run.path.rglob("*") if file.is_file()}
    with pytest.raises(DataError, match="truncated"):
        tiny.begin(run)
    assert {file: file.read_bytes() for file in run.path.rglob("*") if file.is_file()} == before


def test_options_below_their_least_are_all_named(tiny):
    with pytest.raises(RecipeError) as caught:
        tiny.begin(None, warmup_epochs=-1, batch_size=0, checkpoint_steps=0)
    assert str(caught.value) == (
        "train: warmup_epochs = -1, should be at least 0; batch_size = 0, should be at least 1; "
        "checkpoint_steps = 0, should be at least 1"
    )


def test_an_empty_training_set(tiny):
    method = tiny.Tiny(torch.Generator())
    with pytest.raises(DataError, match="the training set is empty"):
        train(method, tiny.dataset(0), SCHEDULES["constant"](method.optimizer, 1), epochs=1)


def test_a_batch_larger_than_the_training_set(tiny, caplog):
    with caplog.at_level(logging.WARNING):
        method, _ = tiny.begin(None, batch_size=100, epochs=1)
    assert "batch_size 100 is larger than the training set; using its 61 samples" in caplog.text
    assert [len(call.index) for call in method.calls if isinstance(call, Batch)] == [61]


def test_a_bug_of_the_method_comes_through_and_is_told(tiny, run):
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tiny.begin(run, interrupting(tiny, 7, fail))
    assert json.loads(run.summary.read_text())["status"] == "failed"


class Recorder:
    def __init__(self):
        self.told = []

    def start(self, epochs, steps, done):
        self.told.append(("start", epochs, steps, done))

    def step(self, epoch, step, means):
        self.told.append((epoch, step, *means.means()))

    def epoch(self, line):
        self.told.append(line)

    def stop(self):
        self.told.append("stop")


def test_what_an_observer_is_told(tiny, run):
    first, second = Recorder(), Recorder()
    with pytest.raises(Interrupted):
        tiny.begin(run, interrupting(tiny, 2, press), observer=first, epochs=1)
    _, result = tiny.begin(run, observer=second, epochs=1)
    names = ("loss", "accuracy", "weight")
    assert first.told == [("start", 1, 5, 0), (1, 1, *names), (1, 2, *names), "stop"]
    steps = [(1, step, *names) for step in (3, 4, 5)]
    assert second.told == [("start", 1, 5, 2), *steps, result.last, "stop"]


def test_the_rate_is_what_the_optimizer_had(tiny):
    class OwnRate(tiny.Tiny):
        def step(self, batch):
            self.optimizer.param_groups[0]["lr"] = 0.125
            return super().step(batch)

    _, result = tiny.begin(None, OwnRate)
    assert [line["lr"] for line in result.history] == [0.125] * EPOCHS


@given(samples=st.integers(1, 300), batch_size=st.integers(1, 310))
def test_every_sample_once_and_no_batch_of_one(samples, batch_size):
    batches = [range(*bounds) for bounds in batch_bounds(samples, batch_size)]
    assert [place for batch in batches for place in batch] == list(range(samples))
    sizes = [len(batch) for batch in batches]
    assert all(size == min(batch_size, samples) for size in sizes[:-1])
    assert sizes[-1] <= batch_size + 1
    assert batch_size == 1 or samples == 1 or min(sizes) > 1


def test_a_single_sample_joins_the_batch_before():
    assert batch_bounds(9, 4) == [(0, 4), (4, 9)]
    assert batch_bounds(10, 4) == [(0, 4), (4, 8), (8, 10)]
    assert batch_bounds(3, 1) == [(0, 1), (1, 2), (2, 3)]


def test_batch_larger_than_the_dataset(caplog):
    with caplog.at_level(logging.WARNING):
        assert batch_bounds(9, 64) == [(0, 9)]
    assert "batch_size 64 is larger than the training set; using its 9 samples" in caplog.text


def test_no_samples():
    with pytest.raises(DataError, match="empty"):
        batch_bounds(0, 4)

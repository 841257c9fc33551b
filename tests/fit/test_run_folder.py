"""A recipe carried out leaves a complete run; a run continues to the same end, and only its own."""

import csv
import json
from statistics import mean

import pytest
import torch
from safetensors.torch import load_file

from reweigh.errors import DataError
from reweigh.fit.run_folder import begin, describe, resume
from reweigh.training import train
from reweigh.weighting import load_weighting

RECIPE = """
[data]
name = "digits"
bias = [{ name = "symmetric", rate = 0.4 }]
[model]
name = "mlp"
hidden = [8]
[method]
name = "cmw-net"
every = 5
[train]
epochs = 3
warmup_epochs = 1
batch_size = 256
[optimizer]
name = "sgd"
"""


def test_a_folder_that_is_taken_is_refused_before_any_data_are_read(recipe, tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.toml").write_text(RECIPE)
    monkeypatch.setattr("reweigh.fit.run_folder.read_source", lambda plan: pytest.fail("read"))
    with pytest.raises(DataError, match="there is a run already; continue it with --resume"):
        begin(recipe(), tmp_path / "run")


def test_a_run_is_complete(recipe, tmp_path):
    outcome = begin(recipe(), tmp_path / "run")
    run = outcome.run
    assert len(run.read_metrics()) == 3
    assert json.loads(run.summary.read_text())["status"] == "finished"
    saved, model = load_file(run.model), outcome.fit.model.state_dict()
    assert saved.keys() == model.keys()
    assert all((saved[name] == model[name]).all() for name in saved)
    net, origin = load_weighting(run.weighting)
    learned = outcome.fit.weighting
    assert net.num_families == learned.num_families == len(origin.centers)
    assert origin.learned_on == describe(outcome.plan) == "digits, symmetric (rate=0.4)"
    with open(run.samples) as file:
        rows = list(csv.DictReader(file))
    train = outcome.train_set
    assert len(rows) == len(train)
    assert list(rows[0]) == [
        *("row", "given_label", "suggested_label", "label_quality", "is_label_issue", "weight", "family", "loss"),
        "true_label",
    ]
    assert [int(row["row"]) for row in rows] == train.origin.tolist()
    assert [train.class_names.index(row["true_label"]) for row in rows] == train.true_labels.tolist()
    assert [train.class_names.index(row["given_label"]) for row in rows] == train.labels.tolist()
    wrong = [row["given_label"] != row["true_label"] for row in rows]
    quality = [float(row["label_quality"]) for row in rows]
    assert mean(q for q, w in zip(quality, wrong, strict=True) if w) < mean(
        q for q, w in zip(quality, wrong, strict=True) if not w
    )
    with open(run.test) as file:
        tested = list(csv.DictReader(file))
    accuracy = mean(row["label"] == row["predicted"] for row in tested)
    assert accuracy == pytest.approx(outcome.result.last["test_accuracy"])
    classes = json.loads(run.classes.read_text())
    assert classes["sizes"] == train.class_sizes.tolist()
    assert [int(row["family"]) for row in rows] == [classes["families"][label] for label in train.labels]


def test_a_plain_run_has_no_weights(recipe, tmp_path):
    run = begin(recipe("method.name=erm"), tmp_path / "run").run
    assert run.model.exists()
    assert not run.weighting.exists()
    assert json.loads(run.classes.read_text())["families"] is None
    with open(run.samples) as file:
        assert {(row["weight"], row["family"]) for row in csv.DictReader(file)} == {("", "")}


def test_where_nobody_looks_nothing_is_suggested(recipe, tmp_path):
    run = begin(recipe("train.looks=0"), tmp_path / "run").run
    with open(run.samples) as file:
        rows = list(csv.DictReader(file))
    assert {(row["suggested_label"], row["label_quality"], row["is_label_issue"]) for row in rows} == {("", "", "")}


class Stop:
    """Interrupts in the middle of the second epoch."""

    def start(self, epochs, steps, done):
        pass

    def step(self, epoch, step, means):
        if (epoch, step) == (2, 2):
            raise RuntimeError("the machine went away")

    def epoch(self, line):
        pass

    def stop(self):
        pass


def test_an_interrupted_run_ends_like_one_that_was_not(recipe, tmp_path):
    whole = begin(recipe(), tmp_path / "whole")
    with pytest.raises(RuntimeError, match="went away"):
        begin(recipe(), tmp_path / "broken", Stop())
    continued = resume(tmp_path / "broken", expected=recipe())
    assert continued.run.samples.read_bytes() == whole.run.samples.read_bytes()
    for name in ("model.safetensors", "weighting.safetensors"):  # as bytes they differ: metadata have no order
        one, other = load_file(whole.run.path / name), load_file(continued.run.path / name)
        assert one.keys() == other.keys()
        assert all((one[key] == other[key]).all() for key in one)
    without_time = [[{k: v for k, v in line.items() if k != "seconds"} for line in found.result.history]
                    for found in (whole, continued)]  # fmt: skip
    assert without_time[0] == without_time[1]


def test_only_a_run_of_the_same_recipe_is_continued(recipe, tmp_path):
    begin(recipe("train.epochs=1"), tmp_path / "run")
    with pytest.raises(DataError, match="another recipe"):
        resume(tmp_path / "run", expected=recipe("train.epochs=2"))
    with pytest.raises(DataError, match="no run here"):
        resume(tmp_path / "nowhere")


def test_a_recipe_that_cannot_be_built_leaves_an_older_run_alone(recipe, tmp_path):
    before = begin(recipe("train.epochs=1"), tmp_path / "run").run.model.read_bytes()
    broken = recipe("data.name=mnist", f"data.root={tmp_path}")
    with pytest.raises(DataError):
        begin(broken, tmp_path / "run", overwrite=True)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == before


def test_options_without_a_value_are_not_told(recipe):
    biased = recipe("data.bias=[{name='asymmetric', rate=0.4}]")
    assert describe(biased) == "digits, asymmetric (rate=0.4)"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_families_that_are_stored_are_those_that_were_used(recipe, tmp_path, seed):
    """PRODEN identifies labels, from which CMW-Net finds its families; those that are identified later are others."""
    words = ("method.name=proden+cmw-net", "data.bias=[]", "data.candidates={name='independent', q=0.3}")
    brief = ("method.identify_epochs=1", f"train.seed={seed}")
    outcome = begin(recipe(*words, *brief), tmp_path / "run")
    used = outcome.fit.weighting.families
    assert json.loads(outcome.run.classes.read_text())["families"] == used.of_class.tolist()
    _, origin = load_weighting(outcome.run.weighting)
    assert list(origin.centers) == pytest.approx(used.centers.tolist())


def test_training_uses_the_threads_of_the_recipe_and_then_those_before(recipe, tmp_path, monkeypatch):
    before, seen = torch.get_num_threads(), []

    def watched(*arguments, **options):
        seen.append(torch.get_num_threads())
        return train(*arguments, **options)

    monkeypatch.setattr("reweigh.fit.trainer.train", watched)
    begin(recipe(f"train.num_threads={before + 1}", "train.epochs=1", "train.warmup_epochs=0"), tmp_path / "run")
    assert (seen, torch.get_num_threads()) == ([before + 1], before)

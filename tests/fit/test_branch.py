"""A branch continues a run with another method, exactly as if that had been trained from the start."""

from pathlib import Path

import pytest
import torch
from torch import nn

from reweigh.errors import DataError, ModelError, ReweighError
from reweigh.files.tensors import read as read_tensors
from reweigh.fit.run_folder import begin, resume
from reweigh.methods import BEGIN_AS_ERM
from reweigh.recipes.read import check, read
from reweigh.training import Interrupted, Run
from reweigh.training.progress import Silent
from reweigh.training.state import Branch, checkpoint_of

SHORT = ["train.epochs=5", "train.warmup_epochs=3", "train.looks=2"]


def planned(method, *changes):
    return check(read("demo", [*SHORT, f"method.name={method}", "meta_set.name=balanced-random", *changes]))


@pytest.fixture(scope="module")
def stem(tmp_path_factory):
    """A run of plain training; its optimizer has momentum."""
    path = tmp_path_factory.mktemp("branch") / "erm"
    begin(planned("erm"), path)
    return path


def weights(run):
    return {name: tensor.tolist() for name, tensor in read_tensors(Run(run).model)[0].items()}


def branched(method, stem, path, *changes):
    return begin(planned(method, f"train.branch={stem}", *changes), path)


@pytest.mark.parametrize("method", ["erm", *BEGIN_AS_ERM])
def test_it_ends_as_if_it_had_been_trained_from_the_start(method, stem, tmp_path):
    own = {"mcw": ["method.start=0.6"]}.get(method, [])
    begin(planned(method, *own), tmp_path / "scratch")
    branched(method, stem, tmp_path / "branch", *own)
    assert weights(tmp_path / "branch") == weights(tmp_path / "scratch")
    branch, scratch = (
        [(line["epoch"], line["lr"], line["test_accuracy"]) for line in Run(tmp_path / name).read_metrics()]
        for name in ("branch", "scratch")
    )
    assert branch == scratch


def test_it_resumes(stem, tmp_path):
    class Stop(Silent):
        def epoch(self, line):
            if line["epoch"] == 4:
                raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        begin(planned("cmw-net", f"train.branch={stem}"), tmp_path / "killed", Stop())
    resume(tmp_path / "killed")
    branched("cmw-net", stem, tmp_path / "whole")
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")


def test_the_checkpoint_is_that_of_the_end_of_the_warm_up_or_the_last(stem, tmp_path):
    assert checkpoint_of(stem).name == "warmed-up.safetensors"
    begin(planned("erm", "train.warmup_epochs=0"), tmp_path / "erm")
    assert checkpoint_of(tmp_path / "erm").name == "last.safetensors"
    longer = branched("cmw-net", tmp_path / "erm", tmp_path / "longer", "train.epochs=7", "train.warmup_epochs=0")
    assert len(longer.result.history) == 7


def test_settings_of_the_optimizer_are_those_of_the_branch(stem, tmp_path):
    """A saved state has rates and decays of its own, which must not win."""
    branched("erm", stem, tmp_path / "same")
    branched("erm", stem, tmp_path / "other", "optimizer.weight_decay=0.5")
    assert weights(tmp_path / "same") == weights(stem)
    assert weights(tmp_path / "other") != weights(stem)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (["model.hidden=[8]"], ModelError, "belongs to another model"),
        (["optimizer.name=adam"], ModelError, "another optimizer; use the same one"),
        (["train.seed=1"], DataError, "another seed and training set; a branch continues with the same samples"),
        (["train.batch_size=50"], DataError, "another batch size"),
        (["data.bias.0.rate=0.3"], DataError, "another training set"),
        (["train.judge=0.2"], ReweighError, "train.branch: "),
        (["train.branch=nowhere"], DataError, "train.branch: there is no checkpoint nowhere"),
    ],
)
def test_what_does_not_fit_is_refused(changes, error, message, stem, tmp_path):
    with pytest.raises(error, match=message):
        branched("cmw-net", stem, tmp_path / "run", *changes)


def test_a_method_without_a_single_model_cannot_be_branched_from():
    model = nn.Linear(2, 2)
    with pytest.raises(ModelError, match=r"x has no model and no optimizer; only a run whose method trains one model"):
        Branch(Path("x"), {"method": {"first": 1}}).take_over(model, torch.optim.SGD(model.parameters(), 0.1))


def test_the_middle_of_an_epoch_is_refused(tmp_path):
    class Stop(Silent):
        def step(self, epoch, step, means):
            if epoch == 2 and step == 9:
                raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        begin(planned("erm", "train.warmup_epochs=0", "train.checkpoint_steps=3"), tmp_path / "erm", Stop())
    with pytest.raises(DataError, match="in the middle of epoch"):
        branched("cmw-net", tmp_path / "erm", tmp_path / "run")

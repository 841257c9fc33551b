"""CMW-Net as a method: trusted samples, warm-up, transfer, and a life full of interruptions."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core.objective import Batch
from reweigh.data import Dataset
from reweigh.meta_sets import META_SETS
from reweigh.methods import METHODS, build, options_of_method
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.setup import Setup
from reweigh.weighting import ClassAwareNet, Origin, save_weighting

HERE = Path(__file__).parent


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs, labels, reduction="none")


def _setup(**meta_set: object) -> Setup:
    torch.manual_seed(0)
    labels = torch.tensor([0] * 40 + [1] * 20 + [2] * 10)
    data = Dataset(torch.randn(70, 4) + 3 * F.one_hot(labels, 4), labels, ("a", "b", "c"))
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    generator = torch.Generator().manual_seed(0)
    trusted = META_SETS["lowest-loss"](per_class=4, **meta_set)
    return Setup(model, optimizer, data, trusted, loss, None, generator, torch.device("cpu"))


def _batch(setup: Setup) -> Batch:
    return setup.train_set.batch(torch.arange(70))


def test_warm_up_is_plain_training() -> None:
    first, second = _setup(), _setup()
    plain, reweighted = build("erm", first), build("cmw-net", second)
    for method, setup in ((plain, first), (reweighted, second)):
        method.start_epoch(0, warm_up=True)
        method.step(_batch(setup))
    for ours, theirs in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert reweighted.sample_weights().isnan().all()


def test_weights_are_kept_by_sample() -> None:
    setup = _setup()
    method = build("cmw-net", setup, every=1)
    method.start_epoch(0, warm_up=False)
    method.step(setup.train_set.batch(torch.tensor([5, 60])))
    weights = method.sample_weights()
    assert weights is not None
    assert (~weights.isnan()).nonzero().squeeze(1).tolist() == [5, 60]


def test_mw_net_has_one_curve_and_no_option_for_more() -> None:
    for method in (build("mw-net", _setup()), METHODS["mw-net"](_setup())):
        assert method.weight_net().num_families == 1
        assert method.families().num_families == 1
    assert "families" not in options_of_method(METHODS["mw-net"])
    assert build("cmw-net", _setup()).weight_net().num_families == 3
    assert build("cmw-net", _setup(), families=2).families().num_families == 2


def test_a_function_from_another_run(tmp_path: Path) -> None:
    torch.manual_seed(7)
    learned = ClassAwareNet(3)
    save_weighting(tmp_path / "w.safetensors", learned, Origin())
    setup = _setup()
    method = build("cmw-net", setup, weighting=str(tmp_path / "w.safetensors"))
    method.start_epoch(0, warm_up=False)
    before = loss(setup.model(_batch(setup).inputs), setup.train_set.labels).detach()
    method.step(_batch(setup))
    expected = learned(before, 2 - setup.train_set.labels).detach()
    torch.testing.assert_close(method.sample_weights(), expected)


def test_a_function_that_ignores_a_class_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def learn_with(biases: list[float]) -> list[str]:
        net = ClassAwareNet(3)
        with torch.no_grad():
            net.heads.weight.zero_()
            net.heads.bias.copy_(torch.tensor(biases))
        save_weighting(tmp_path / "w.safetensors", net, Origin())
        caplog.clear()
        setup = _setup()
        method = build("cmw-net", setup, weighting=str(tmp_path / "w.safetensors"))
        for epoch in range(3):
            method.start_epoch(epoch, warm_up=epoch == 0)
            method.step(_batch(setup))
            method.end_epoch()
        return [record.getMessage() for record in caplog.records]

    (message,) = learn_with([3.0, 0.0, -9.0])
    assert "next to no weight to 1 class (a)" in message
    assert learn_with([3.0, 0.0, -4.0]) == []  # 40 samples at .02 beside ten at .95
    assert learn_with([-4.0, 0.0, 3.0]) == []


@pytest.mark.parametrize("judge", ["model", "average"])
@pytest.mark.parametrize(("name", "options"), [("cmw-net", {}), ("cmw-net-sl", {"settled": 0.0})])
def test_with_a_function_from_another_run_nothing_is_judged(name, options, judge, tmp_path, monkeypatch) -> None:
    save_weighting(tmp_path / "w.safetensors", ClassAwareNet(3), Origin())
    passes: list[object] = []
    monkeypatch.setattr(Setup, "losses", lambda self, model: passes.append(model) or torch.zeros(70))
    for weighting, expected in ((None, 1), (str(tmp_path / "w.safetensors"), 0)):
        passes.clear()
        method = build(name, setup := _setup(judge=judge), weighting=weighting, **options)
        method.start_epoch(0, warm_up=False)
        method.step(_batch(setup))
        assert len(passes) == expected


def test_trusted_batches_come_from_the_clean_set_where_there_is_one() -> None:
    setup = _setup(mixup=False)
    clean = Dataset(torch.full((6, 4), 7.0), torch.tensor([0, 0, 1, 1, 2, 2]), ("a", "b", "c"))
    setup = replace(setup, meta_set=META_SETS["clean"](path="elsewhere"), clean_set=clean)
    method = build("cmw-net", setup, every=1)
    assert isinstance(method, CMWNet)
    method.start_epoch(0, warm_up=False)
    inputs, labels = method._trusted.next(64)
    assert torch.equal(inputs, clean.inputs)
    assert labels.sort().values.tolist() == clean.labels.tolist()
    assert "meta_loss" in method.step(_batch(setup))


def test_the_average_of_the_model_can_judge_who_is_trusted() -> None:
    setup = _setup(judge="average", memory=0.0)
    method = build("cmw-net", setup)
    assert isinstance(method, CMWNet)
    for epoch in range(2):
        method.start_epoch(epoch, warm_up=epoch == 0)
        for _ in range(5):
            method.step(_batch(setup))
    method.start_epoch(2, warm_up=False)
    assert method._trusted._average is not None
    judged = setup.losses(method._trusted._average.model)
    expected = setup.meta_set.choose(setup.train_set.labels, judged, setup.generator)
    assert torch.equal(method._trusted.chosen, expected)
    assert not torch.equal(judged, setup.losses(setup.model))
    other = build("cmw-net", _setup(judge="average", memory=0.0))
    other.load_state_dict(method.state_dict())
    assert isinstance(other, CMWNet)
    assert other._trusted._average is not None
    assert torch.equal(setup.losses(other._trusted._average.model), judged)


def test_losses_that_training_saw_can_say_who_is_trusted() -> None:
    setup = _setup(judge="training", memory=0.0)
    method = build("cmw-net", setup)
    assert isinstance(method, CMWNet)
    method.start_epoch(0, warm_up=False)  # nothing was seen yet: the model judges
    chosen = setup.meta_set.choose(setup.train_set.labels, setup.losses(setup.model), setup.generator)
    assert torch.equal(method._trusted.chosen, chosen)
    seen = setup.losses(setup.model)
    first = setup.train_set.batch(torch.arange(50))
    method.step(first)
    state = method.state_dict()
    torch.testing.assert_close(state["trusted"]["seen"][:50], seen[:50])
    method.start_epoch(1, warm_up=False)
    torch.testing.assert_close(method._trusted._losses, seen)  # the last twenty keep the loss that they had
    other = build("cmw-net", _setup(judge="training", memory=0.0))
    other.load_state_dict(state)
    other.start_epoch(1, warm_up=False)
    assert isinstance(other, CMWNet)
    assert torch.equal(other._trusted.chosen, method._trusted.chosen)


def test_losses_of_earlier_epochs_are_remembered() -> None:
    setup = _setup(memory=0.75)
    method = build("cmw-net", setup)
    assert isinstance(method, CMWNet)
    remembered = None
    for epoch in range(4):
        now = setup.losses(setup.model)
        remembered = now if remembered is None else 0.75 * remembered + 0.25 * now
        method.start_epoch(epoch, warm_up=False)
        expected = setup.meta_set.choose(setup.train_set.labels, remembered, setup.generator)
        assert torch.equal(method._trusted.chosen, expected)
        for _ in range(3):
            method.step(_batch(setup))
    other = build("cmw-net", _setup(memory=0.75))
    other.load_state_dict(method.state_dict())
    assert isinstance(other, CMWNet)
    torch.testing.assert_close(other._trusted._losses, remembered)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_five_times_and_still_the_same_run(tmp_path: Path) -> None:
    """SIGKILL at five random moments, resumed each time: weights and metrics are those of a run left alone."""
    survival = HERE.parent / "training" / "survival.py"
    command = [sys.executable, survival, HERE / "training.py", tmp_path, "5", "0", "cmw-net", "8"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert len(outcome["kills"]) == 5
    assert outcome["different"] == []

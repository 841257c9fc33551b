"""A model starts from the weights of another run; whatever does not fit is told before anything is trained."""

import logging
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from reweigh.errors import ModelError
from reweigh.fit.run_folder import begin, resume
from reweigh.fit.source import read_source
from reweigh.fit.start import start_from
from reweigh.fit.trainer import Trainer, builder, own_randomness
from reweigh.models import build

RECIPE = """
[data]
name = "digits"
train_size = 200
[model]
name = "cnn"
width = 4
[method]
name = "simclr"
[train]
epochs = 1
[optimizer]
name = "sgd"
"""


def _cnn(num_classes: int = 10, channels: int = 1, width: int = 4) -> nn.Module:
    return build("cnn", (channels, 8, 8), num_classes, width=width)


@pytest.fixture
def file(tmp_path) -> Path:
    """Weights of a small convolutional network, statistics included."""
    torch.manual_seed(7)
    model = _cnn()
    model(torch.randn(9, 1, 8, 8))
    path = tmp_path / "weights.safetensors"
    save_file(model.state_dict(), path)
    return path


def test_every_tensor_is_loaded_and_nothing_is_drawn(file):
    model = _cnn()
    state = torch.get_rng_state()
    start_from(model, file)
    assert torch.equal(torch.get_rng_state(), state)
    there = load_file(file)
    assert int(there["features.1.num_batches_tracked"]) == 1
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, there[name])
    assert all(param.requires_grad for param in model.parameters())


def test_other_classes_leave_the_last_layer_fresh_and_say_so(file, caplog):
    model = _cnn(num_classes=3)
    fresh = model.classifier.weight.clone()
    with caplog.at_level(logging.INFO):
        start_from(model, file)
    assert torch.equal(model.classifier.weight, fresh)
    assert torch.equal(model.features[0].weight, load_file(file)["features.0.weight"])
    assert "the last layer starts fresh; classifier.weight is (3, 16) here, (10, 16) there" in caplog.text


def test_what_is_left_over_is_named(file, caplog):
    save_file({**load_file(file), "head.0.weight": torch.zeros(2)}, file)
    with caplog.at_level(logging.INFO):
        start_from(_cnn(), file)
    assert "not used of" in caplog.text
    assert "head.0.weight" in caplog.text


def test_half_precision_becomes_single(file):
    half = {name: t.half() if t.is_floating_point() else t for name, t in load_file(file).items()}
    save_file(half, file)
    model = _cnn()
    start_from(model, file)
    assert model.classifier.weight.dtype == torch.float32
    assert torch.equal(model.classifier.weight, half["classifier.weight"].float())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: _cnn(width=8), r"6 of 32 tensors fit; features.0.weight is \(8, 1, 3, 3\) here, \(4, 1, 3, 3\) there"),
        (
            lambda: _cnn(channels=3),
            r"31 of 32 tensors fit; features.0.weight is \(4, 3, 3, 3\) here, \(4, 1, 3, 3\) there\. Use",
        ),
        (
            lambda: build("mlp", (1, 8, 8), 10),
            r"0 of 14 tensors fit; 1.weight is \(256, 64\) here, none there.*and \d+ more",
        ),
        (lambda: nn.Sequential(nn.Linear(16, 10)), r"0 of 2 tensors fit; 0.weight is"),
    ],
)
def test_another_model_is_refused_and_left_alone(file, model, message):
    built = model()
    before = {name: tensor.clone() for name, tensor in built.state_dict().items()}
    with pytest.raises(ModelError, match=rf"model\.start: .* belongs to another model.*{message}"):
        start_from(built, file)
    for name, tensor in built.state_dict().items():
        assert torch.equal(tensor, before[name])


def test_numbers_that_are_not_finite(file):
    save_file({**load_file(file), "classifier.bias": torch.full((10,), float("nan"))}, file)
    with pytest.raises(ModelError, match=r"not finite: classifier\.bias; train it again"):
        start_from(_cnn(), file)


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(ModelError, match=r"there is no file .*nowhere; give a run folder or a safetensors file"):
        start_from(_cnn(), tmp_path / "nowhere")
    with pytest.raises(ModelError, match=r"there is no file .*model.safetensors; give a folder that holds a run"):
        start_from(_cnn(), tmp_path)
    (tmp_path / "recipe.toml").touch()
    with pytest.raises(ModelError, match=r"the run has not ended; continue it with: reweigh train --resume"):
        start_from(_cnn(), tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a file of torch.save", b"\x10" + bytes(7) + b"{not json....."])
def test_a_file_of_another_kind(tmp_path, content):
    path = tmp_path / "weights.pt"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not a safetensors file, or truncated"):
        start_from(_cnn(), path)


def test_a_truncated_file(file):
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(ModelError, match="not a safetensors file, or truncated"):
        start_from(_cnn(), file)


def assemble(plan):
    with own_randomness(plan.train["seed"]):
        return Trainer(plan, builder(plan.model), torch.device("cpu")).assemble(read_source(plan).train)


def test_from_one_run_to_another_and_resumed(recipe, tmp_path):
    """SimCLR first, then CMW-Net-SL from its model; the recipe of the second run remembers where it came from."""
    first = tmp_path / "first"
    begin(recipe(), first)
    second = recipe("method.name=cmw-net-sl", f"model.start={first}")
    model = assemble(second).method.model
    there = load_file(first / "model.safetensors")
    assert all(torch.equal(tensor, there[name]) for name, tensor in model.state_dict().items())
    begin(second, tmp_path / "second")
    assert resume(tmp_path / "second", expected=second).plan == second
    assert f'start = "{first}"' in (tmp_path / "second" / "recipe.toml").read_text()


def test_the_draws_of_a_run_are_those_without_a_start(recipe, tmp_path):
    """What is drawn after the model, such as the weight net, is the same with and without."""
    begin(recipe(), tmp_path / "first")
    nets = [
        assemble(recipe("method.name=cmw-net", *start)).method.weight_net().state_dict()
        for start in ([], [f"model.start={tmp_path / 'first'}"])
    ]
    assert all(torch.equal(nets[0][name], nets[1][name]) for name in nets[0])


@pytest.mark.parametrize("method", ["dividemix", "elr+", "decoupling", "co-teaching"])
def test_both_of_two_networks_have_the_start_and_differ_in_the_last_layer(recipe, file, method):
    peer = assemble(recipe(f"method.name={method}", f"model.start={file}")).method._peer.model.state_dict()
    there = load_file(file)
    assert {name for name in there if not torch.equal(peer[name], there[name])} <= {
        "classifier.weight",
        "classifier.bias",
    }
    assert not torch.equal(peer["classifier.weight"], there["classifier.weight"])
    alone = assemble(recipe(f"method.name={method}")).method
    widest = max(there, key=lambda name: there[name].numel())
    assert not torch.equal(alone._peer.model.get_parameter(widest), alone._model.get_parameter(widest))


def test_an_empty_path_is_no_start(recipe, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(ModelError, match="give a folder that holds a run"):
        assemble(recipe("model.start=''"))


def test_the_last_layer_alone_is_trained_from_a_start(recipe, tmp_path, file):
    """Both levels of CMW-Net move it, and it alone."""
    plan = recipe("method.name=cmw-net", f"model.start={file}", "model.trains=last-layer", "train.epochs=2")
    trained = begin(plan, tmp_path / "run").fit.model
    before, after = load_file(file), dict(trained.named_parameters())
    moved = {name for name, param in after.items() if not torch.equal(param, before[name])}
    assert {name.rpartition(".")[0] for name in moved} == {list(after)[-1].rpartition(".")[0]}
    assert len(moved) == 2

"""The default method from data to files and back: its model, its verdict, what it says of the classes."""

import json

import numpy as np
import pytest
import torch

from reweigh.data import from_arrays
from reweigh.fit import fit
from reweigh.fit.export import to_onnx
from reweigh.fit.run_folder import begin, load_model
from reweigh.fit.store import load, save
from reweigh.plan.check import examine
from reweigh.plan.choose import chosen
from reweigh.plan.facts import Facts
from reweigh.recipes.check import check
from reweigh.recipes.read import read
from reweigh.weighting import load_weighting

RECIPE = """
[data]
name = "digits"
train_size = 500
bias = [{ name = "symmetric", rate = 0.4 }]
[model]
name = "mlp"
hidden = [32]
[method]
name = "two-looks"
[train]
epochs = 19
batch_size = 32
looks = 1
[optimizer]
name = "adamw"
lr = 0.01
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """A run of the recipe."""
    folder = tmp_path_factory.mktemp("two-looks")
    (folder / "recipe.toml").write_text(RECIPE)
    return begin(check(read(folder / "recipe.toml", [])), folder / "run")


def test_the_model_of_a_run_is_read_back(outcome):
    again = load_model(outcome.run.path).model
    inputs = torch.randn(7, 1, 8, 8)
    with torch.no_grad():
        assert torch.equal(again(inputs), outcome.fit.model(inputs))


def test_an_ensemble_can_be_exported(outcome):
    onnx = pytest.importorskip("onnx")
    reference = pytest.importorskip("onnx.reference")
    trained = load_model(outcome.run.path)
    trained.model.share([0.25, 0.0, 0.0, 0.25, 0.5])
    inputs = torch.rand(3, *trained.inputs.shape)
    evaluator = reference.ReferenceEvaluator(onnx.load_from_string(to_onnx(trained)))
    (logits,) = evaluator.run(None, {"inputs": inputs.numpy()})
    mean = torch.tensor(trained.inputs.mean).view(1, -1, 1, 1)
    std = torch.tensor(trained.inputs.std).view(1, -1, 1, 1)
    with torch.no_grad():
        torch.testing.assert_close(torch.tensor(logits), trained.model((inputs - mean) / std), rtol=1e-3, atol=1e-4)


def test_what_it_says_of_labels_and_classes(outcome):
    samples, train_set = outcome.fit.samples, outcome.train_set
    wrong = train_set.labels != train_set.true_labels
    assert float((samples.wrong & wrong).sum() / samples.wrong.sum()) > 0.7
    assert torch.equal(samples.wrong, samples.suggested != samples.given)
    by_quality = samples.quality.argsort()
    assert float(samples.weights[by_quality[:100]].max()) < float(samples.weights[by_quality[-100:]].min())
    finding = json.loads(outcome.run.classes.read_text())["finding"]
    assert finding == outcome.fit.finding._asdict()
    stored = finding["share"]
    sizes = train_set.class_sizes
    estimated = float(torch.tensor(stored) @ sizes.float() / sizes.sum())
    assert estimated == pytest.approx(float(wrong.float().mean()), rel=0.3)


def test_the_weighting_function_is_stored_with_what_it_reads(outcome):
    net, origin = load_weighting(outcome.run.weighting)
    assert origin.reads == "doubt"
    doubt = torch.linspace(0, 5, 20)
    with torch.no_grad():
        same = outcome.fit.weighting(doubt.numpy()) == net(doubt, torch.zeros(20, dtype=torch.long)).numpy()
    assert same.all()


def test_another_network_can_start_from_it(outcome):
    from reweigh.fit.start import start_from
    from reweigh.models import build

    model = build("mlp", (1, 8, 8), 10, hidden=(32,))
    start_from(model, outcome.run.path)
    kept = outcome.fit.model.members[int(outcome.fit.model.shares.argmax())]
    assert all(torch.equal(model.state_dict()[name], value) for name, value in kept.state_dict().items())


def test_one_file(outcome, tmp_path):
    save(tmp_path / "fit", outcome.fit, {})
    again, _ = load(tmp_path / "fit")
    assert again.finding == outcome.fit.finding
    inputs = torch.randn(7, 1, 8, 8)
    with torch.no_grad():
        assert torch.equal(again.model(inputs), outcome.fit.model(inputs))


def test_samples_set_apart_are_judged_too():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    X = (rng.normal(size=(200, 5)) + 2 * truth[:, None]).astype(np.float32)
    wrong = rng.random(200) < 0.2
    train_set = from_arrays(X, np.where(wrong, 1 - truth, truth))
    values = chosen(Facts.of(train_set), {"train": {"epochs": 10, "abstain": 0.2}})
    plan, mistakes = examine(values, passed=["data"])
    assert not mistakes
    assert plan.method.name == "two-looks"
    found = fit(train_set, plan)
    assert found.samples.quality.isfinite().all()
    quality = found.samples.quality.numpy()
    assert quality[wrong].mean() < quality[~wrong].mean() - 0.3

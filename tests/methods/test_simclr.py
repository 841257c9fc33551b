"""SimCLR: its loss against a loop, where its gradients go, and features that know digits without a label."""

from dataclasses import replace
from itertools import pairwise
from math import exp, log
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core.objective import Batch
from reweigh.data import DATASETS, Dataset
from reweigh.errors import DataError, ModelError
from reweigh.meta_sets import META_SETS
from reweigh.methods import METHODS
from reweigh.methods.setup import Setup
from reweigh.methods.simclr import SimCLR, nt_xent
from reweigh.models import build
from reweigh.training import OPTIMIZERS, SCHEDULES, train
from reweigh.transforms import Flip


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs, labels, reduction="none")


def _setup(data: Dataset, model: nn.Module, optimizer: str = "sgd", lr: float = 0.1) -> Setup:
    made = OPTIMIZERS[optimizer](model.parameters(), lr=lr)
    trusted = META_SETS["lowest-loss"]()
    generator = torch.Generator().manual_seed(0)
    return Setup(model, made, data, trusted, loss, None, generator, torch.device("cpu"))


def _digits(**options: object) -> Setup:
    torch.manual_seed(0)
    data = DATASETS["digits"](Path(), train_size=200).train
    return _setup(data, build("cnn", data.shape, 10, width=4), **options)  # type: ignore[arg-type]


def _made(setup: Setup, **options: object) -> SimCLR:
    method = METHODS["simclr"](setup, **options)
    assert isinstance(method, SimCLR)
    method.start_epoch(0, warm_up=False)
    return method


class TestNTXent:
    @pytest.mark.parametrize("temperature", [0.1, 0.5, 2.0])
    def test_against_a_loop(self, temperature: float) -> None:
        torch.manual_seed(0)
        first, second = torch.randn(2, 5, 3, dtype=torch.float64)
        views = [*first, *second]

        def term(a: int, b: int) -> float:
            def similar(c: int) -> float:
                return exp(float(views[a] @ views[c] / views[a].norm() / views[c].norm()) / temperature)

            return -log(similar(b) / sum(similar(c) for c in range(10) if c != a))

        expected = [(term(i, i + 5) + term(i + 5, i)) / 2 for i in range(5)]
        torch.testing.assert_close(nt_xent(first, second, temperature), torch.tensor(expected, dtype=torch.float64))

    def test_views_that_are_all_alike_tell_nothing(self) -> None:
        same = torch.ones(8, 4)
        torch.testing.assert_close(nt_xent(same, same, 0.5), torch.full((8,), log(15)))

    def test_identical_views_that_differ_from_all_others_cost_nothing_when_it_is_cold(self) -> None:
        own = torch.eye(8)
        assert nt_xent(own, own, 0.01).max() < 1e-6
        torch.testing.assert_close(nt_xent(own, own, 1e6), torch.full((8,), log(15)), atol=1e-4, rtol=0)

    def test_a_single_sample_has_nobody_to_be_told_from(self) -> None:
        assert nt_xent(torch.randn(1, 4), torch.randn(1, 4), 0.5).tolist() == [0.0]

    def test_only_directions_count(self) -> None:
        first, second = torch.randn(2, 6, 4, dtype=torch.float64)
        torch.testing.assert_close(nt_xent(3 * first, second / 7, 0.5), nt_xent(first, second, 0.5))


def test_features_tell_digits_apart_though_no_label_was_seen() -> None:
    """A linear classifier on the features, fitted to half of the training images, judged on the other half."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    torch.manual_seed(0)
    data = DATASETS["digits"](Path()).train
    half = torch.arange(len(data)) % 2 == 0
    model = build("cnn", data.shape, 10, width=8)

    def accuracy() -> float:
        model.eval()
        with torch.no_grad():
            features = model.features(data.batch(torch.arange(len(data))).inputs).mean((2, 3)).numpy()
        probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        labels = data.labels.numpy()
        return probe.fit(features[half], labels[half]).score(features[~half], labels[~half])

    before = accuracy()
    blind = data.with_labels(torch.zeros_like(data.labels))
    setup = _setup(blind, model)
    schedule = SCHEDULES["cosine"](setup.optimizer, 8)
    train(_made(setup), blind, schedule, generator=setup.generator, epochs=8, batch_size=256)
    assert accuracy() > max(before + 0.05, 0.85)


def _step(setup: Setup, method: SimCLR, labels: Tensor, weights: Tensor | None = None) -> dict[str, Tensor]:
    batch = setup.train_set.batch(torch.arange(20))
    method.step(Batch(batch.inputs, labels, batch.index, weights))
    return {name: tensor.clone() for name, tensor in setup.model.state_dict().items()}


def test_labels_reach_the_last_layer_alone() -> None:
    after = []
    for shift in (0, 1):
        setup = _digits()
        after.append(_step(setup, _made(setup), (setup.train_set.labels[:20] + shift) % 10))
    same = {name for name in after[0] if torch.equal(after[0][name], after[1][name])}
    assert after[0].keys() - same == {"classifier.weight", "classifier.bias"}


def test_given_sample_weights_count() -> None:
    """Weights of zero: nothing but weight decay and statistics move; of two: twice the gradient."""
    steps = []
    for weight in (0.0, 1.0, 2.0):
        setup = _digits()
        for group in setup.optimizer.param_groups:
            group |= {"weight_decay": 0.0, "momentum": 0.0}
        before = {name: tensor.clone() for name, tensor in setup.model.named_parameters()}
        after = _step(setup, _made(setup), setup.train_set.labels[:20], torch.full((20,), weight))
        steps.append({name: after[name] - before[name] for name in before})
    for name, moved in steps[1].items():
        assert steps[0][name].abs().max() == 0
        torch.testing.assert_close(steps[2][name], 2 * moved, atol=1e-6, rtol=1e-3)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_head_is_optimized_as_the_model_is(optimizer: str) -> None:
    setup = _digits(optimizer=optimizer, lr=0.01)
    method = _made(setup)
    ours, theirs = method._head_optimizer, setup.optimizer
    assert type(ours) is type(theirs)
    assert len(theirs.param_groups) == 1
    setup.optimizer.param_groups[0]["lr"] = 0.003  # what a schedule does
    before = [param.clone() for param in method._head.parameters()]
    assert method.step(setup.train_set.batch(torch.arange(20)))["contrast"] > 0
    settings = [{key: group[key] for key in group if key != "params"} for group in ours.param_groups]
    assert settings == [{key: group[key] for key in group if key != "params"} for group in theirs.param_groups]
    assert not any(torch.equal(old, new) for old, new in zip(before, method._head.parameters(), strict=True))


def test_a_view_passes_the_transforms_of_the_recipe_first() -> None:
    setup = replace(_digits(), augment=Flip(probability=1.0))
    method = _made(setup, crop=1.0, color=0.0)
    batch = setup.train_set.batch(torch.arange(20), method._view, setup.generator).inputs
    torch.testing.assert_close(batch, setup.train_set.batch(torch.arange(20)).inputs.flip(3), atol=1e-5, rtol=0)


def test_views_are_drawn_from_the_generator_that_the_loop_saves() -> None:
    setup = _digits()
    method = _made(setup)
    states = [setup.generator.get_state()]
    everywhere = torch.get_rng_state()
    for _ in range(2):
        method.step(setup.train_set.batch(torch.arange(20)))
        states.append(setup.generator.get_state())
    assert not any(torch.equal(one, other) for one, other in pairwise(states))
    assert torch.equal(torch.get_rng_state(), everywhere)


def test_the_model_is_left_as_it_was_but_for_its_weights() -> None:
    setup = _digits()
    method = _made(setup)
    method.step(setup.train_set.batch(torch.arange(20)))
    assert not setup.model.classifier._forward_pre_hooks
    assert set(setup.model.state_dict()) == set(build("cnn", (1, 8, 8), 10, width=4).state_dict())


def test_a_table_has_no_views() -> None:
    data = Dataset(torch.randn(30, 5), torch.arange(30) % 3, ("a", "b", "c"))
    with pytest.raises(DataError, match=r"one sample has shape \(5,\).*train 'cmw-net-sl'"):
        METHODS["simclr"](_setup(data, build("mlp", (5,), 3)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Sequential(nn.Conv2d(1, 10, 8), nn.Flatten()), "ends in a linear layer, but its last layer is a Conv2d"),
        (nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), "trained layers below its linear classifier"),
    ],
)
def test_a_model_without_features(model: nn.Module, message: str) -> None:
    setup = _setup(DATASETS["digits"](Path(), train_size=200).train, model)
    with pytest.raises(ModelError, match=message):
        _made(setup).step(setup.train_set.batch(torch.arange(20)))

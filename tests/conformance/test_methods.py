"""Every method of the table learns, is deterministic, resumes bit for bit, and takes a batch of one class."""

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from reweigh.bias import CANDIDATES
from reweigh.core.method import Method
from reweigh.data import Dataset, few_labels, with_candidates
from reweigh.errors import DataError
from reweigh.meta_sets import META_SETS
from reweigh.methods import METHODS, build
from reweigh.methods.setup import Setup
from reweigh.training import SCHEDULES, Run, train
from reweigh.training.checkpoint import load, save

EPOCHS = 10


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs, labels, reduction="none")


def _data() -> Dataset:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(3, (120,), generator=generator)
    labels[labels == 2] = torch.randint(2, (int((labels == 2).sum()),), generator=generator) * 2
    inputs = torch.randn(120, 5, generator=generator) + 3 * F.one_hot(labels, 5)
    return Dataset(inputs, labels, ("a", "b", "c"))


def _images() -> Dataset:
    """Stripes from side to side, stripes from top to bottom, and none, in noise: a view of one looks like no other."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(3, (120,), generator=generator)
    stripes = torch.tensor([28, 28, 228, 228] * 2)
    patterns = torch.stack([stripes.view(8, 1).expand(8, 8), stripes.expand(8, 8), torch.full((8, 8), 20)])
    noise = torch.randint(-10, 10, (120, 8, 8), generator=generator)
    return Dataset((patterns[labels] + noise).byte().unsqueeze(1), labels, ("a", "b", "c"))


def _truth(data: Dataset) -> Tensor:
    return data.labels if data.true_labels is None else data.true_labels


def _rows() -> tuple[nn.Module, ...]:
    return nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3)


def _convolution() -> tuple[nn.Module, ...]:
    pooled = nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    return *pooled, nn.Dropout(0.1), nn.Linear(16, 3)


def _method(name: str) -> tuple[Method, Setup]:
    """The method on rows of numbers, or on images if it needs them."""
    try:
        return _method_on(name, _data(), _rows)
    except DataError as error:
        if "images" not in str(error):
            raise
        return _method_on(name, _images(), _convolution)


def _method_on(name: str, data: Dataset, layers: Callable[[], tuple[nn.Module, ...]]) -> tuple[Method, Setup]:
    if METHODS[name].unlabeled:
        data = few_labels(data, 45, seed=0)
    if METHODS[name].candidates:
        data = with_candidates(data, CANDIDATES["independent"](data.labels, 3, 0, q=0.3))
    torch.manual_seed(0)

    def fresh() -> tuple[nn.Module, torch.optim.Optimizer]:
        model = nn.Sequential(*layers())
        return model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)

    trusted, generator = META_SETS["lowest-loss"](per_class=5), torch.Generator().manual_seed(0)
    setup = Setup(
        *fresh(), data, trusted, loss, None, generator, torch.device("cpu"), epochs=EPOCHS
    )  # fmt: skip
    return build(name, setup), setup


def _train(name: str, run: Run | None = None) -> tuple[Method, Dataset]:
    method, setup = _method(name)
    schedule = SCHEDULES["constant"](setup.optimizer, EPOCHS)
    train(
        method, setup.train_set, schedule, run=run, generator=setup.generator,
        epochs=EPOCHS, warmup_epochs=1, batch_size=32,
    )  # fmt: skip
    return method, setup.train_set


@pytest.mark.parametrize("name", METHODS)
def test_learns_and_is_deterministic(name: str) -> None:
    method, data = _train(name)
    again, _ = _train(name)
    method.model.eval()
    right = (method.model(data.batch(torch.arange(120)).inputs).argmax(1) == _truth(data)).float().mean()
    assert float(right) > 0.9
    for ours, theirs in zip(method.model.state_dict().values(), again.model.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", METHODS)
def test_resumes_bit_for_bit_from_the_middle_of_an_epoch(name: str, tmp_path: Path) -> None:
    method, setup = _method(name)
    batches = [setup.train_set.batch(index) for index in torch.arange(120).split(30)]

    def state_of(method: Method) -> list[Tensor]:
        save(tmp_path / "state", method.state_dict())
        return list(load_file(tmp_path / "state").values())

    for epoch in range(2):
        method.start_epoch(epoch, warm_up=epoch == 0)
        for batch in batches[:3]:
            method.step(batch)
        if epoch == 0:
            method.end_epoch()
    save(tmp_path / "middle", copy.deepcopy(method.state_dict()))
    generators = torch.get_rng_state(), setup.generator.get_state()
    other, elsewhere = _method(name)
    for current, its in ((method, setup), (other, elsewhere)):
        if current is other:
            other.load_state_dict(load(tmp_path / "middle"))
        torch.set_rng_state(generators[0])
        its.generator.set_state(generators[1])
        current.step(batches[3])
        current.end_epoch()
        current.start_epoch(2, warm_up=False)
        for batch in batches:
            current.step(batch)
    for ours, theirs in zip(state_of(method), state_of(other), strict=True):
        assert torch.equal(ours.nan_to_num(), theirs.nan_to_num())


@pytest.mark.parametrize("name", METHODS)
def test_a_batch_of_one_class(name: str) -> None:
    method, setup = _method(name)
    index = (_truth(setup.train_set) == 1).nonzero().squeeze(1)[:8]
    for epoch in (0, 1):
        method.start_epoch(epoch, warm_up=epoch == 0)
        assert torch.as_tensor(method.step(setup.train_set.batch(index))["loss"]).isfinite()


@pytest.mark.parametrize("name", METHODS)
def test_trains_with_a_model_that_was_left_in_eval_mode(name: str) -> None:
    method, setup = _method(name)
    setup.model.eval()
    method.start_epoch(0, warm_up=False)
    assert setup.model.training

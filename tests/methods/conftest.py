"""A problem small enough to be trained by hand, in double precision."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from reweigh.core.method import Method
from reweigh.core.objective import Batch
from reweigh.data import Dataset, few_labels
from reweigh.losses import LOSSES
from reweigh.meta_sets import META_SETS
from reweigh.methods import build
from reweigh.methods.setup import Setup

LR, DECAY = 0.1, 0.01


class Tiny:
    """Twenty samples of three classes, a linear model, gradient descent with weight decay; two batches an epoch."""

    def __init__(self, name: str, **options: Any) -> None:
        generator = torch.Generator().manual_seed(0)
        labels = torch.tensor([0] * 10 + [1] * 6 + [2] * 4)[torch.randperm(20, generator=generator)]
        inputs = torch.randn(20, 4, generator=generator) + 2 * torch.eye(4)[labels]
        self.data = Dataset(inputs, labels, ("a", "b", "c"), normalize=Tensor.double)
        torch.manual_seed(0)
        self.model, optimizer = self.fresh()
        self.setup = Setup(
            self.model,
            optimizer,
            self.data,
            META_SETS["lowest-loss"](per_class=2, mixup=False),
            LOSSES["cross-entropy"],
            None,
            torch.Generator().manual_seed(0),
            torch.device("cpu"),
            epochs=8,
        )
        self.method: Method = build(name, self.setup, **options)
        self.batches: list[Batch] = [self.data.batch(torch.arange(12)), self.data.batch(torch.arange(12, 20))]

    @staticmethod
    def fresh() -> tuple[nn.Linear, torch.optim.Optimizer]:
        model = nn.Linear(4, 3).double()
        return model, torch.optim.SGD(model.parameters(), LR, weight_decay=DECAY)

    def epoch(self, epoch: int, warm_up: bool = False) -> None:
        self.method.start_epoch(epoch, warm_up)
        for batch in self.batches:
            self.method.step(batch)
        self.method.end_epoch()


class ByHand:
    """The same, trained by the formula of a loss: (logits of a sample, its label, its place) -> loss."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self.weight = weight.detach().clone().requires_grad_()
        self.bias = bias.detach().clone().requires_grad_()

    def logits(self, sample: Tensor) -> Tensor:
        return self.weight @ sample + self.bias

    def step(self, batch: Batch, loss: Callable[[Tensor, int, int], Tensor], size: float | None = None) -> None:
        """Descend the sum of the losses divided by ``size``, by default the number of samples."""
        rows = zip(batch.inputs, batch.labels.tolist(), batch.index.tolist(), strict=True)
        total = torch.stack([loss(self.logits(sample), label, place) for sample, label, place in rows]).sum()
        slopes = torch.autograd.grad(total / (size or len(batch)), (self.weight, self.bias))
        with torch.no_grad():
            for param, slope in zip((self.weight, self.bias), slopes, strict=True):
                param -= LR * (slope + DECAY * param)

    def check(self, model: nn.Module) -> None:
        torch.testing.assert_close(model.get_parameter("weight"), self.weight)
        torch.testing.assert_close(model.get_parameter("bias"), self.bias)


@pytest.fixture
def tiny() -> Callable[..., Tiny]:
    """(method, **options) -> the problem with that method, always from the same start."""
    return Tiny


@pytest.fixture
def by_hand() -> Callable[[nn.Module], ByHand]:
    """A model -> the same, to be trained by hand."""
    return lambda model: ByHand(model.get_parameter("weight"), model.get_parameter("bias"))


@pytest.fixture
def like_erm(tiny) -> Callable[..., None]:
    """(method, **options): after three epochs it has the weights of plain training, bit for bit or nearly."""

    def compare(name: str, exactly: bool = False, warm_up: bool = False, near: float = 1e-9, **options: Any) -> None:
        plain, other = tiny("erm"), tiny(name, **options)
        for epoch in range(3):
            plain.epoch(epoch)
            other.epoch(epoch, warm_up)
        same = torch.equal if exactly else partial(torch.allclose, rtol=near, atol=near)
        assert same(plain.model.weight, other.model.weight)
        assert same(plain.model.bias, other.model.bias)

    return compare


@pytest.fixture
def recipe() -> Callable[..., dict]:
    """(**sections) -> a recipe with these."""

    def written(**sections: Any) -> dict:
        return {
            "data": {"name": "digits"},
            "model": {"name": "mlp"},
            "optimizer": {"name": "sgd"},
            "train": {"epochs": 1},
            **sections,
        }

    return written


class FewLabels:
    """Thirty small images of three classes, twelve of them labeled, and a linear model in double precision."""

    def __init__(self, name: str, labeled: int = 12, meta_set: str = "labeled", **options: Any) -> None:
        generator = torch.Generator().manual_seed(0)
        labels = torch.arange(30) % 3
        images = torch.rand(30, 1, 4, 4, generator=generator) / 2 + torch.eye(4)[labels].view(30, 1, 1, 4) / 2
        data = Dataset(images, labels, ("a", "b", "c"), normalize=Tensor.double)
        self.data = few_labels(data, labeled, seed=0)
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(16, 3)).double()
        self.setup = Setup(
            self.model,
            torch.optim.SGD(self.model.parameters(), LR, weight_decay=DECAY),
            self.data,
            META_SETS[meta_set](),
            LOSSES["cross-entropy"],
            None,
            torch.Generator().manual_seed(0),
            torch.device("cpu"),
        )
        self.method: Any = build(name, self.setup, **{"labeled_batch": 6, **options})
        self.batch = self.data.batch(torch.arange(5, 17))
        self.labeled = self.data.batch(self.data.labeled.nonzero().squeeze(1)[3:9])
        self.views = torch.rand(30, 1, 4, 4, generator=generator).double()  # stand for distorted images

    def fixed(self) -> "FewLabels":
        """The same with the labeled batch and the views above, in place of drawn ones."""
        self.method._labeled.next = lambda: self.labeled
        self.method._strong = lambda index: self.views[index]
        self.method.start_epoch(0, warm_up=False)
        return self

    def step(self) -> dict[str, float]:
        return self.method.step(self.batch)

    def expected(self, loss: Callable[[nn.Module], Tensor]) -> list[Tensor]:
        """The parameters after one step on that loss, before any was taken."""
        params = list(self.model.parameters())
        slopes = torch.autograd.grad(loss(self.model), params)
        return [(p - LR * (slope + DECAY * p)).detach() for p, slope in zip(params, slopes, strict=True)]

    def check(self, expected: list[Tensor]) -> None:
        torch.testing.assert_close([p.detach() for p in self.model.parameters()], expected)


@pytest.fixture
def few() -> Callable[..., FewLabels]:
    """(method, **options) -> the problem with few labels and that method, always from the same start."""
    return FewLabels

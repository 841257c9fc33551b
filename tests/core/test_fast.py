"""Without the tricks for speed a step gives the same result."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core import learner
from reweigh.core.fast import ChannelsLast, Features, Tricks
from reweigh.core.jvp import ENGINES, engine
from reweigh.core.learner import MetaLearner
from reweigh.core.objective import mean_loss, reweighted, soft_labels
from reweigh.core.rerun import Params, Randomness, Rerun
from reweigh.weighting import ClassAwareNet, LearnedWeights


class NoTricks(Tricks):
    """What would be left of them."""

    def try_out(self, is_same: Any) -> None:
        pass


class Net(nn.Module):
    def __init__(self, dropout: float):
        super().__init__()
        self.blocks = nn.Sequential(
            nn.Sequential(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), nn.Softplus(), nn.Dropout(dropout)),
            nn.Sequential(nn.Conv2d(4, 5, 2), nn.BatchNorm2d(5), nn.Softplus(), nn.Dropout(dropout)),
        )
        self.head = nn.Linear(5, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(x).mean((2, 3)))


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs, labels, reduction="none")


def _after_two_steps(lookahead: Any, scope: str, name: str, dropout: float) -> tuple[dict[str, Tensor], list[Tensor]]:
    torch.manual_seed(0)
    model, net = Net(dropout), ClassAwareNet(3, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    weigher = LearnedWeights(net, torch.optim.SGD(net.parameters(), 1.0))
    made = MetaLearner(model, optimizer, weigher, engine(name), lookahead=lookahead, scope=scope)
    labels, pseudo = torch.randint(4, (10,)), torch.rand(10, 4).softmax(1)
    objective = soft_labels(loss, torch.randn(10, 3, 4, 4), labels, pseudo)
    meta = mean_loss(loss, torch.randn(6, 3, 4, 4), torch.randint(4, (6,)))
    for _ in range(2):
        made.step(objective, labels % 3, meta)
    made.learn(objective, labels % 3, meta)
    return model.state_dict(), [p.grad for p in net.parameters() if p.grad is not None]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("scope", ["all", "last-block", "last-layer"])
@pytest.mark.parametrize("lookahead", ["virtual", "real"])
def test_without_tricks_the_same(lookahead: str, scope: str, dropout: float, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        for name in ENGINES:
            quick = _after_two_steps(lookahead, scope, name, dropout)
            with monkeypatch.context() as patch:
                patch.setattr(learner, "Tricks", NoTricks)
                plain = _after_two_steps(lookahead, scope, name, dropout)
            precision = 1e-6 if name == "difference" else 1e-12
            torch.testing.assert_close(quick, plain, rtol=precision, atol=precision)
            assert max(float(gradient.abs().max()) for gradient in quick[1]) > 1e-4
    finally:
        torch.set_default_dtype(torch.float32)


class Viewing(nn.Module):
    """Reads the memory of a batch of images in ways that depend on its layout."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4 * 16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(torch.relu(self.conv(x)), 2)
        return self.head(x.view(x.size(0), -1)) + x.view(len(x), 4, 16).mean(2)[:, :1]


def test_channels_last_gives_the_same_outputs_and_gradients() -> None:
    torch.manual_seed(0)
    model, inputs = Viewing(), torch.randn(6, 3, 8, 8)
    expected = torch.autograd.grad(model(inputs).square().sum(), list(model.parameters()))
    with ChannelsLast():
        found = torch.autograd.grad(model(inputs).square().sum(), list(model.parameters()))
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_images_are_laid_out_once_and_other_shapes_left_alone() -> None:
    first, second = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3)
    with ChannelsLast():
        between = torch.relu(first(torch.randn(2, 3, 9, 9)))
        assert between.is_contiguous(memory_format=torch.channels_last)
        assert second(between).is_contiguous(memory_format=torch.channels_last)
        assert torch.arange(6).view(2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
        assert torch.zeros(2, 3, 4, 4).view(torch.int32).dtype == torch.int32
    assert not first(torch.randn(2, 3, 9, 9)).is_contiguous(memory_format=torch.channels_last)


class InPlace(Net):
    """Changes in place what a block returned, after it was used."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.blocks(x)
        h += 1
        return self.head(h.mean((2, 3)))


class Strided(Net):
    def forward(self, x: Tensor) -> Tensor:
        h = self.blocks(x)
        return self.head(h.as_strided((len(x), 5), (20, 1)))


def _made(model: nn.Module, scope: str) -> MetaLearner:
    net = ClassAwareNet(3, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    learner = MetaLearner(model, optimizer, LearnedWeights(net, None), engine("forward"), scope=scope)
    learner.weigher.learn = lambda weights, gradient, reduce: gradient.norm()  # type: ignore[method-assign]
    labels = torch.arange(10) % 4
    objective = reweighted(loss, torch.randn(10, 3, 4, 4), labels)
    learner.learn(objective, labels % 3, mean_loss(loss, torch.randn(6, 3, 4, 4), labels[:6]))
    return learner


@pytest.mark.parametrize(
    ("model", "scope", "replays", "rearranges"),
    [
        (Net, "all", False, True),
        (Net, "last-layer", True, True),
        (InPlace, "last-layer", False, True),
        (Strided, "all", False, False),
    ],
)
def test_tricks_are_used_where_they_change_nothing(model: Any, scope: str, replays: bool, rearranges: bool) -> None:
    torch.manual_seed(0)
    tricks = _made(model(0.0), scope)._tricks
    assert (tricks._replays, tricks._rearranges) == (replays, rearranges)


CPU = torch.device("cpu")


class Below(nn.Module):
    """Dropout below and above the last layer; ``join`` decides how the parts meet."""

    def __init__(self, join: str = "plain"):
        super().__init__()
        self.join = join
        self.stem = nn.Linear(6, 6)
        self.drop = nn.Dropout(0.5)
        self.body = nn.Linear(6, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = F.dropout(self.body(self.drop(self.stem(x))), 0.3, self.training)
        if self.join == "without the module":
            h = self.body(h @ self.head.weight.T @ self.head.weight)
            return h @ self.head.weight.T
        return F.dropout(self.head(h), 0.3, self.training)


def _check(join: str, computed_again: bool) -> None:
    torch.manual_seed(0)
    model, inputs = Below(join), torch.randn(8, 6)
    scope: Params = {"head.weight": model.head.weight, "head.bias": model.head.bias}
    features = Features(model, scope)
    again = Rerun(model, Randomness.now(CPU))
    with features.record():
        model(inputs)
    moved = {name: param + 0.1 for name, param in scope.items()}
    expected = again(lambda forward: forward(inputs), moved)
    original = nn.Linear.forward
    counted: list[nn.Module] = []

    def counting(self: nn.Linear, x: Tensor) -> Tensor:
        counted.append(self)
        return original(self, x)

    nn.Linear.forward = counting
    try:
        with features.replay():
            found = again(lambda forward: forward(inputs), moved)
    finally:
        nn.Linear.forward = original
    assert torch.equal(found, expected)
    assert (model.stem in counted) == computed_again
    assert "forward" not in model.stem.__dict__


def test_modules_below_are_not_computed_again() -> None:
    _check("plain", computed_again=False)


def test_a_parameter_used_without_its_module_keeps_nothing() -> None:
    _check("without the module", computed_again=True)


def test_a_second_forward_is_computed() -> None:
    torch.manual_seed(0)
    model, inputs, others = Below(), torch.randn(8, 6), torch.randn(8, 6)
    scope: Params = {"head.weight": model.head.weight, "head.bias": model.head.bias}
    features = Features(model, scope)
    again = Rerun(model, Randomness.now(CPU))
    with features.record():
        model(inputs), model(others)
    moved = {name: param + 0.1 for name, param in scope.items()}
    expected = again(lambda forward: (forward(inputs), forward(others)), moved)
    with features.replay():
        found = again(lambda forward: (forward(inputs), forward(others)), moved)
    assert torch.equal(found[0], expected[0])
    assert torch.equal(found[1], expected[1])

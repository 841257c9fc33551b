"""What was computed below the scope is used again only where that is exact."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core.rerun import Params, Randomness, Rerun
from reweigh.core.speed.features import Features

CPU = torch.device("cpu")


class Net(nn.Module):
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
        if self.join == "in place":
            h = self.stem(x)
            h += self.body(x)
        if self.join == "without the module":
            h = self.body(h @ self.head.weight.T @ self.head.weight)
            return h @ self.head.weight.T
        return F.dropout(self.head(h), 0.3, self.training)


def _check(join: str, computed_again: bool) -> None:
    torch.manual_seed(0)
    model, inputs = Net(join), torch.randn(8, 6)
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


def test_an_output_that_was_changed_in_place_is_not_used() -> None:
    _check("in place", computed_again=True)


def test_a_parameter_used_without_its_module_keeps_nothing() -> None:
    _check("without the module", computed_again=True)


def test_a_second_forward_is_computed() -> None:
    torch.manual_seed(0)
    model, inputs, others = Net(), torch.randn(8, 6), torch.randn(8, 6)
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

"""The hand-made forward derivatives against those that torch derives by itself."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.forward_ad import dual_level, make_dual, unpack_dual
from torch.func import functional_call

from reweigh.core.speed.duals import FastDuals, Recording


@pytest.fixture(autouse=True)
def _double() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.b(F.silu(self.a(x), inplace=True).mul_(2))


class Called(nn.Module):
    """Convolutions and BatchNorm as functions with named arguments, one weight used twice."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 2, 3, 3))

    def forward(self, x: Tensor) -> Tensor:
        x = F.conv2d(input=x, weight=self.weight, padding="same")
        x = F.batch_norm(x, None, None, training=True)
        return F.conv2d(x, self.weight, stride=2)


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "conv1d": (lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4)), (5, 2, 8)),
    "conv2d": (lambda: nn.Sequential(nn.Conv2d(2, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4)), (5, 2, 8, 8)),
    "conv3d": (lambda: nn.Sequential(nn.Conv3d(2, 4, 3), nn.BatchNorm3d(4)), (5, 2, 4, 4, 4)),
    "groups": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3, groups=2, dilation=2), nn.Conv2d(4, 2, 1)), (5, 4, 8, 8)),
    "same padding": (lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding="same"), nn.ReLU()), (5, 2, 8, 8)),
    "circular padding": (lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"), (5, 2, 8, 8)),
    "no affine": (lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3, affine=False)), (5, 2, 8, 8)),
    "batchnorm first": (lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3), nn.BatchNorm1d(3)), (9, 4)),
    "linear of sequences": (lambda: nn.Sequential(nn.Linear(4, 3), nn.GELU(), nn.Linear(3, 2, bias=False)), (5, 7, 4)),
    "eval": (lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)).eval(), (5, 2, 8, 8)),
    "in place": (InPlace, (5, 2, 8, 8)),
    "called": (Called, (5, 2, 8, 8)),
}


@pytest.mark.parametrize("frozen", ["", "weight", "bias"])
@pytest.mark.parametrize("recalled", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_derivative(name: str, recalled: bool, frozen: str) -> None:
    made, shape = MODELS[name]
    model, inputs = made(), torch.randn(shape)
    values = {key: p.detach() for key, p in model.named_parameters()}
    slopes = {key: torch.randn_like(p) for key, p in values.items() if not (frozen and key.endswith(frozen))}
    with Recording(model) as recording:
        model(inputs)

    def derivative(mode: FastDuals | None) -> tuple[Tensor, Tensor | None]:
        state = {key: b.clone() for key, b in model.named_buffers()}
        with torch.no_grad(), dual_level(), mode or nullcontext():
            duals = {key: make_dual(p, slopes[key]) if key in slopes else p for key, p in values.items()}
            value, slope = unpack_dual(functional_call(model, {**duals, **state}, (inputs,)))
            return value.clone(), None if slope is None else slope.clone()

    expected = derivative(None)
    found = derivative(FastDuals(recording.products() if recalled else []))
    torch.testing.assert_close(found[0], expected[0])
    assert (found[1] is None) == (expected[1] is None)
    if expected[1] is not None:
        torch.testing.assert_close(found[1], expected[1])


def test_recalled_products_are_not_computed_again() -> None:
    model, inputs = nn.Conv2d(2, 3, 3), torch.randn(4, 2, 8, 8)
    with Recording(model) as recording:
        expected = model(inputs).detach()
    assert len(recording.products()) == 1
    with torch.no_grad(), dual_level(), FastDuals(recording.products()):
        dual = make_dual(model.weight.detach(), torch.zeros_like(model.weight))
        value, _ = unpack_dual(F.conv2d(inputs, dual, None))  # no bias: only a recalled output can contain it
    torch.testing.assert_close(value, expected)


def test_a_forward_that_goes_another_way_recalls_nothing() -> None:
    first, second = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1)
    inputs = torch.randn(4, 2, 8, 8)
    with Recording(nn.ModuleList([first, second])) as recording:
        second(first(inputs))
    with torch.no_grad(), dual_level(), FastDuals(recording.products()):
        dual = make_dual(second.weight.detach(), torch.zeros_like(second.weight))
        value, _ = unpack_dual(F.conv2d(inputs, dual, second.bias.detach()))
    torch.testing.assert_close(value, second(inputs).detach())

"""Every engine, look-ahead and scope on a device: the weights of the CPU, one wait in a step that learns, else none."""

import pytest
import torch
from torch import Tensor, nn

pretend = pytest.importorskip("tests.device.pretend", exc_type=ImportError)  # torch before 2.9 has no devices in Python

from reweigh import Reweighter  # noqa: E402
from reweigh.core.jvp import ENGINES  # noqa: E402
from reweigh.core.objective import NORMALIZERS  # noqa: E402

LABELS = torch.arange(12) % 3
GENERATOR = torch.Generator().manual_seed(1)
INPUTS, TRUSTED = (torch.randn(12, 6, generator=GENERATOR) for _ in range(2))
OPTIMIZERS = {
    "sgd": lambda params: torch.optim.SGD(params, 0.1, momentum=0.9, weight_decay=0.01),
    "adamw": lambda params: torch.optim.AdamW(params, 0.01),
}


def trained(device: torch.device, optimizer: str, **options: str) -> tuple[list[Tensor], list[list[str]]]:
    """The parameters of a model after some steps, and where the host waited in each."""
    torch.manual_seed(0)
    # a bias before BatchNorm has no gradient but rounding errors, which Adam makes as large as any other
    first = nn.Linear(6, 8, bias=False)
    model = nn.Sequential(first, nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3)).to(device)
    it = Reweighter(model, OPTIMIZERS[optimizer](model.parameters()), LABELS, every=2, **options)  # pyright: ignore
    batch = [tensor.to(device) for tensor in (INPUTS, LABELS, TRUSTED, LABELS)]
    waits: list[list[str]] = []
    for _ in range(6):
        with pretend.counted() as found:
            it.step(*batch).scalars()
        waits.append(list(found))
    return [pretend.home(param) for param in (*model.parameters(), *it.weight_net.parameters())], waits


def check(optimizer: str, **options: str) -> None:
    expected, _ = trained(torch.device("cpu"), optimizer, **options)
    with pretend.available():
        found, waits = trained(pretend.DEVICE, optimizer, **options)
    tolerance = 1e-2 if options.get("engine") == "difference" else 1e-4  # it divides by a small step
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance / 10)
    for step, lines in enumerate(waits[2:]):  # in the first ones the optimizer makes its state
        assert len(lines) == (step % 2 == 0), lines  # whether the weights have collapsed


@pytest.mark.parametrize("scope", ["all", "last-layer"])
@pytest.mark.parametrize("lookahead", ["virtual", "real"])
@pytest.mark.parametrize("engine", ENGINES)
def test_engines(engine: str, lookahead: str, scope: str) -> None:
    check("sgd", engine=engine, lookahead=lookahead, scope=scope)


@pytest.mark.parametrize("normalize", NORMALIZERS)
def test_normalizers(normalize: str) -> None:
    check("sgd", normalize=normalize)


def test_another_optimizer() -> None:
    check("adamw")


def test_mixes_and_waits_are_seen() -> None:
    with pretend.available():
        some = torch.randn(4).to(pretend.DEVICE)
        with pytest.raises(RuntimeError, match="same device"):
            some + torch.randn(4)
        with pretend.counted() as found:
            float(some.sum())
            some[some > 0]
            some.cpu()
            some.tolist()
            some[torch.tensor([0, 1])] = 0.0
            torch.zeros(4).to(pretend.DEVICE)
        assert len(found) == 4

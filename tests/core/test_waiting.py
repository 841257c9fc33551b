"""Steps do not wait for the device: nothing is read from it, so that an accelerator could work ahead."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from reweigh import Reweighter
from reweigh.core.jvp import ENGINES
from reweigh.data import Dataset
from reweigh.losses import LOSSES
from reweigh.meta_sets import META_SETS
from reweigh.methods import build
from reweigh.methods.setup import Setup

aten = torch.ops.aten
READS = {aten._local_scalar_dense, aten.equal, aten.is_nonzero, aten.nonzero, aten.masked_select, aten.allclose}
READS |= {aten._unique2, aten.unique_dim, aten.unique_consecutive}
LABELS = torch.arange(24) % 3


class Reads(TorchDispatchMode):
    """Counts what would wait for a device: reads of values, and sizes that depend on values."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        packet = func.overloadpacket
        masks = packet is aten.index and any(i is not None and i.dtype == torch.bool for i in args[1])
        state = packet is aten.equal and args[0].dtype == torch.uint8  # of the host's generator
        if (packet in READS or masks) and not state:
            self.found.append(str(func))
        return func(*args, **(kwargs or {}))


def reweighter(engine: str, lookahead: str, made: Callable[..., torch.optim.Optimizer]) -> Reweighter:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
    return Reweighter(model, made(model.parameters()), LABELS, every=2, engine=engine, lookahead=lookahead)


OPTIMIZERS = {
    "sgd": lambda params: torch.optim.SGD(params, 0.1, momentum=0.9, weight_decay=0.01),
    "adamw": lambda params: torch.optim.AdamW(params, 0.01, fused=True),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("lookahead", ["virtual", "real"])
@pytest.mark.parametrize("engine", ENGINES)
def test_reads_in_a_step(engine: str, lookahead: str, optimizer: str) -> None:
    """None in a step that does not learn, one in a step that learns (whether the weights have collapsed)."""
    it = reweighter(engine, lookahead, OPTIMIZERS[optimizer])
    inputs, trusted = torch.randn(2, 24, 6)
    for _ in range(2):
        it.step(inputs, LABELS, trusted, LABELS)
    for allowed in (1, 0):
        with Reads() as reads:
            it.step(inputs, LABELS, trusted, LABELS).scalars()
        assert len(reads.found) == allowed, reads.found


@pytest.mark.parametrize("name", ["erm", "cmw-net", "cmw-net-sl"])
def test_reads_in_a_step_of_a_method(name: str) -> None:
    """Numbers to log stay on the device until the epoch is over."""
    torch.manual_seed(0)
    data = Dataset(torch.randn(24, 6), LABELS, ("a", "b", "c"))
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    meta_set = META_SETS["lowest-loss"](per_class=2)
    optimizer, generator = OPTIMIZERS["adamw"](model.parameters()), torch.Generator().manual_seed(0)
    setup = Setup(
        model, optimizer, data, meta_set, LOSSES["cross-entropy"], None, generator, torch.device("cpu"), epochs=4
    )
    method, batch, found = build(name, setup), data.batch(torch.arange(24)), []
    for epoch in range(2):
        method.start_epoch(epoch, False)
        for _ in range(12):
            with Reads() as reads:
                method.step(batch)
            found.append(len(reads.found))
    assert max(found) <= (0 if name == "erm" else 1), found
    assert found.count(0) >= 20, found  # every tenth step learns


def test_reads_are_seen() -> None:
    some = torch.randn(4)
    with Reads() as reads:
        float(some.sum())
        some[some > 0]
        F.relu(some)
    assert len(reads.found) >= 2

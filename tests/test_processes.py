"""The drop-in in two processes, each with a part of the batch, against one process with all of it, in fp64."""

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from reweigh import Reweighter
from reweigh.core.jvp import ENGINES
from reweigh.core.objective import NORMALIZERS, soft_labels
from reweigh.errors import ReweighError
from reweigh.losses import LOSSES

torch.set_num_threads(1)
LABELS = torch.tensor([0, 1, 2, 0, 1, 0, 2, 0])
INPUTS, TRUSTED = torch.randn(14, 4, generator=torch.Generator().manual_seed(0)).double().split([8, 6])
TRUSTED_LABELS = torch.arange(6) % 3
PARTS = [(slice(0, 5), slice(0, 2)), (slice(5, 8), slice(2, 6))]  # of unequal size, and of the trusted samples
ALL = slice(None), slice(None)
CASES: dict[str, dict[str, Any]] = {
    " ".join(options): dict(zip(("engine", "lookahead", "normalize"), options, strict=True))
    for options in itertools.product(ENGINES, ["virtual", "real"], NORMALIZERS)
}
CASES["free"] = {"weight_net": "free"}
CASES["last layer"] = {"scope": "last-layer"}
CASES["own labels"] = {"own_labels": True}
Outcome = dict[str, Tensor]


class Odd(torch.autograd.Function):
    """The square, without a forward mode."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        ctx.save_for_backward(inputs)
        return inputs.square()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return 2 * ctx.saved_tensors[0] * grads[0]


class OddSometimes(nn.Module):
    """A square that lacks a forward mode in the process whose part of the batch has five samples."""

    def forward(self, inputs: Tensor) -> Tensor:
        return Odd.apply(inputs) if len(inputs) == 5 else inputs.square()


def wrapped(network: nn.Module, how: str) -> nn.Module:
    """The network in several processes."""
    if how == "a group of its own":
        mine = [distributed.new_group([rank]) for rank in range(2)][distributed.get_rank()]
        return DistributedDataParallel(network, process_group=mine)
    return DistributedDataParallel(network) if how == "parallel" else network


def train(parts: tuple[slice, slice], seed: int, how: str, own_labels: bool = False, **options: Any) -> Outcome:
    """What some steps on a part of the data lead to: the model and the weights that it would give."""
    part, trusted = parts
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    model = wrapped(network, how)
    optimizer = torch.optim.SGD(model.parameters(), 0.5, momentum=0.9)
    torch.manual_seed(seed)
    labels = LABELS[part] if own_labels else LABELS
    reweighter = Reweighter(model, optimizer, labels, every=2, meta_lr=0.05, families=2, **options)
    pseudo = torch.linspace(0, 1, 24).reshape(8, 3).softmax(1)
    for _ in range(3):
        reweighter.step(INPUTS[part], LABELS[part], TRUSTED[trusted], TRUSTED_LABELS[trusted])
        soft = soft_labels(LOSSES["cross-entropy"], INPUTS[part], LABELS[part], pseudo[part])
        reweighter.step_on(soft, LABELS[part])
    reweighter.learn((INPUTS[part], LABELS[part]), (TRUSTED[trusted], TRUSTED_LABELS[trusted]))
    net = {f"weight net {name}": value for name, value in reweighter.weight_net.state_dict().items()}
    return {**network.state_dict(), **net, "families": reweighter.families.of_class}


def switched(parts: tuple[slice, slice]) -> Outcome:
    """Which engine is used after a step in which one process meets an operation without a forward mode."""
    part, trusted = parts
    network = nn.Sequential(nn.Linear(4, 5), OddSometimes(), nn.Linear(5, 3))
    model = DistributedDataParallel(network)
    reweighter = Reweighter(model, torch.optim.SGD(model.parameters(), 0.5), LABELS, every=1)
    reweighter.step(INPUTS[part], LABELS[part], TRUSTED[trusted], TRUSTED_LABELS[trusted])
    engine: Any = reweighter._learner.engine
    return {"unrolled": torch.tensor(engine.name == "unrolled")}


def refused() -> str:
    """What is said about a model of which each process has a piece."""
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 3))
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    try:
        Reweighter(model, torch.optim.SGD(model.parameters(), 0.5), LABELS)
    except ReweighError as error:
        return str(error)
    return ""


def work(rank: int, folder: Path) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    found = {name: train(PARTS[rank], seed=rank, how="parallel", **options) for name, options in CASES.items()}
    found["a group of its own"] = train(PARTS[rank], 0, "a group of its own", engine="forward")
    found["switched together"] = switched(PARTS[rank])
    found["refused"] = refused()
    torch.save(found, folder / f"{rank}.pt")
    distributed.destroy_process_group()


def test_two_processes_learn_what_one_would(tmp_path: Path) -> None:
    processes = [subprocess.Popen([sys.executable, __file__, str(rank), str(tmp_path)]) for rank in range(2)]
    assert [process.wait(timeout=900) for process in processes] == [0, 0]
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    separate = [found.pop("a group of its own") for found in (first, second)]
    for found in (first, second):
        assert "under fully_shard" in found.pop("refused")
        assert bool(found.pop("switched together")["unrolled"])
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    torch.set_default_dtype(torch.float64)
    try:
        for found, part in zip(separate, PARTS, strict=True):
            torch.testing.assert_close(found, train(part, 0, "alone", engine="forward"), rtol=1e-12, atol=1e-12)
        for name, options in CASES.items():
            alone = train(ALL, seed=0, how="alone", **options)
            exact = options.get("engine") != "difference"
            precision = 1e-12 if exact else 1e-5
            torch.testing.assert_close(
                first[name], alone, rtol=precision, atol=precision, msg=lambda words, name=name: f"{name}: {words}"
            )
    finally:
        torch.set_default_dtype(torch.float32)


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    work(int(sys.argv[1]), Path(sys.argv[2]))

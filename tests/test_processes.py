"""The drop-in in several processes, each with a part of the batch, against one process with all of it."""

import os
import subprocess
import sys
import tempfile

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from reweigh import Reweighter

LABELS = torch.tensor([0, 1, 2, 0, 1, 0, 2, 0])
INPUTS = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
TRUSTED = torch.randn(6, 4, generator=torch.Generator().manual_seed(1)), torch.arange(6) % 3


def train(model: nn.Module, part: slice, trusted: slice, seed: int) -> Reweighter:
    """Some steps on a part of the data."""
    torch.manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    reweighter = Reweighter(model, optimizer, LABELS, engine="forward")
    for _ in range(5):
        reweighter.step(INPUTS[part], LABELS[part], TRUSTED[0][trusted], TRUSTED[1][trusted])
    return reweighter


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))


def weights(reweighter: Reweighter) -> torch.Tensor:
    losses = torch.linspace(0, 3, 3)
    return torch.stack([reweighter.weigh(losses, torch.full((3,), label)) for label in range(3)])


def work(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    model = DistributedDataParallel(network())
    found = train(model, slice(4 * rank, 4 * rank + 4), slice(3 * rank, 3 * rank + 3), seed=rank)
    torch.save((weights(found), dict(model.module.state_dict())), os.path.join(folder, f"{rank}.pt"))
    distributed.destroy_process_group()


def test_two_processes_learn_what_one_would() -> None:
    with tempfile.TemporaryDirectory() as folder:
        processes = [subprocess.Popen([sys.executable, __file__, str(rank), folder]) for rank in range(2)]
        assert [process.wait(timeout=120) for process in processes] == [0, 0]
        first, second = (torch.load(os.path.join(folder, f"{rank}.pt")) for rank in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    model = network()
    alone = train(model, slice(None), slice(None), seed=0)
    torch.testing.assert_close(first[0], weights(alone), rtol=1e-3, atol=1e-4)
    for name, parameter in model.state_dict().items():
        torch.testing.assert_close(first[1][name], parameter, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    work(int(sys.argv[1]), sys.argv[2])

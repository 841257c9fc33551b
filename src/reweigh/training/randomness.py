"""Random generators of a run: seed, save and restore them."""

import random
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor


def seeded(seed: int, *path: int) -> Generator:
    """A generator of its own for each (seed, path), such as (seed, epoch); near seeds give unrelated numbers."""
    (mixed,) = np.random.SeedSequence((seed, *path)).generate_state(1, np.uint64)
    return Generator().manual_seed(int(mixed) >> 1)


def seed_all(seed: int) -> None:
    """Seed the global generators of torch (every device), numpy and Python: initial weights, dropout."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def epoch_order(samples: int, seed: int, epoch: int) -> Tensor:
    """The order in which an epoch visits the samples, shape (samples,); a function of its arguments alone."""
    return torch.randperm(samples, generator=seeded(seed, epoch))


def snapshot() -> dict[str, Any]:
    """The states of all global generators, as tensors and plain values."""
    version, internal, gauss = random.getstate()
    numpy_state: Any = np.random.get_state(legacy=False)
    key = torch.from_numpy(numpy_state["state"]["key"].astype(np.int64))
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "python": (version, torch.tensor(internal), gauss),
        "numpy": {**numpy_state, "state": {**numpy_state["state"], "key": key}},
    }


def restore(state: dict[str, Any]) -> None:
    """Restore every global generator to the state that ``snapshot`` returned."""
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available():
        for device, device_state in zip(range(torch.cuda.device_count()), state["cuda"], strict=False):
            torch.cuda.set_rng_state(device_state, device)
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal.tolist()), gauss))
    inner = state["numpy"]["state"]
    np.random.set_state({**state["numpy"], "state": {**inner, "key": inner["key"].numpy().astype(np.uint32)}})

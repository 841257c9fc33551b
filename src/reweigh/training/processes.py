"""Processes started by torchrun that train together: which one writes, what is shared, and when all stop.

Everything is replicated except two things: the rows of a batch that a process runs through the model
(``core.shards``), and the files that it reads on demand. The first process alone writes. In a single process all of
this does nothing.
"""

import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Generator, Tensor, distributed, nn

from reweigh.core.processes import collective
from reweigh.core.rerun import is_compiled
from reweigh.core.shards import gather, own, shard, shares
from reweigh.data import Dataset
from reweigh.data.inputs import Fetched, Inputs, Rows, ahead
from reweigh.errors import RecipeError, ReweighError

T = TypeVar("T")
MAX_BUSY_TIME = timedelta(hours=2)  # that one process may be busy alone, such as writing, while others wait for it

_joined = False


@contextmanager
def joined(parent: int) -> Iterator[None]:
    """Inside, all processes started by torchrun train one model together.

    Args:
        parent: The process whose end means the end of this one, as after SIGTERM: at the end of a step, with a
            checkpoint. It is torchrun.

    Raises:
        LostProcessError: Not all processes could meet.
    """
    global _joined
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    backend, attempt = "cpu:gloo,cuda:nccl" if cuda else "gloo", os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    with collective(), _ended_by_sigterm():
        store, rank, size = next(distributed.rendezvous("env://"))  # pyright: ignore[reportPrivateImportUsage]
        # a restarted process must not meet the addresses of those that have died
        store = distributed.PrefixStore(f"attempt {attempt}", store)  # pyright: ignore[reportPrivateImportUsage]
        distributed.init_process_group(backend, timeout=MAX_BUSY_TIME, store=store, rank=rank, world_size=size)
    _joined = True
    try:
        yield
    finally:
        _joined = False
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # torchrun ends those that are left; there is nothing to save
        with suppress(RuntimeError):  # others may have ended
            distributed.destroy_process_group()


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Inside, SIGTERM ends this process at once; a handler in Python would run only when torch has stopped waiting."""
    handler = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


def _follow(parent: int) -> None:
    """Send SIGTERM to this process when torchrun has ended and can no longer do so."""
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


def several() -> bool:
    return _joined


def restarted() -> bool:
    """Whether torchrun started this process in place of one that failed."""
    return _joined and int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


def is_first() -> bool:
    """Whether this process is the one that writes and prints; a single process is."""
    return not _joined or distributed.get_rank() == 0


def first(do: Callable[[], T]) -> T:
    """Let the first process do something; all get its result, or its error."""
    if not _joined:
        return do()
    answer: list[Any] = [None, None, ""]
    error: BaseException | None = None
    if is_first():
        try:
            answer[0] = do()
        except (Exception, KeyboardInterrupt) as raised:
            error = raised
            answer[1] = type(raised) if isinstance(raised, ReweighError | KeyboardInterrupt) else ReweighError
            answer[2] = str(raised)
    with collective():
        distributed.broadcast_object_list(answer, src=0)
    if error is not None:
        raise error
    result, kind, message = answer
    if kind is not None:
        raise kind(message)
    return result


def shared(count: int, do: Callable[[Tensor], T]) -> list[T]:
    """Let each process do its share of some work; all get the results in order, or the first error.

    Args:
        count: Number of items.
        do: Processes the items at some indices.
    """
    if not _joined:
        return [do(torch.arange(count))]
    mine: tuple[T | None, BaseException | None]
    try:
        mine = do(torch.arange(count)[own(count)]), None
    except (Exception, KeyboardInterrupt) as error:
        mine = None, error
    answers: list[Any] = [None] * distributed.get_world_size()
    kind = mine[1] if isinstance(mine[1], ReweighError | KeyboardInterrupt | None) else ReweighError(str(mine[1]))
    with collective():
        distributed.all_gather_object(answers, (mine[0], kind))
    for error in (mine[1], *(theirs for _, theirs in answers)):
        if error is not None:
            raise error
    return [result for result, _ in answers]


def any_of(flag: bool) -> bool:
    if not _joined:
        return flag
    found = torch.tensor(int(flag))
    with collective():
        distributed.all_reduce(found, distributed.ReduceOp.MAX)
    return bool(found)


def together(model: nn.Module) -> nn.Module:
    """Let all processes compute the model, each its rows of a batch; it is changed in place, and returned.

    Raises:
        RecipeError: A part of it is compiled, so that its layers cannot see the rows of other processes.
    """
    if _joined and is_compiled(model):
        raise RecipeError(
            "model: a compiled model, whole or in part, is trained in one process, without torchrun; "
            "to train in several, leave out model.compile or torch.compile"
        )
    return shard(model) if _joined else model


class Divided(Fetched):
    """Inputs that are read on demand: each process reads its own samples, every n-th, and all get all of a batch."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        if index.dtype == torch.bool:
            index = index.nonzero().flatten()
        return next(self.ahead([index])) if len(index) else self.inputs[index]

    def ahead(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        rank, processes = distributed.get_rank(), distributed.get_world_size()
        own = [index[index % processes == rank] for index in batches]
        for index, mine in zip(batches, ahead(self.inputs, own), strict=True):
            owners = index % processes
            found = gather(mine, torch.bincount(owners, minlength=processes).tolist())
            yield torch.empty_like(found).index_copy_(0, owners.argsort(stable=True), found)


def fetched_together(samples: Dataset) -> Dataset:
    """The same samples for a training; if they are read on demand, processes read them together, and each once."""
    if not isinstance(samples.inputs, Fetched):
        return samples
    part, parts = (distributed.get_rank(), distributed.get_world_size()) if _joined else (0, 1)
    samples.inputs.keep(part, parts)
    return replace(samples, inputs=_divided(samples.inputs)) if _joined else samples


def _divided(inputs: Inputs) -> Inputs:
    return Rows(_divided(inputs.inputs), inputs.index) if isinstance(inputs, Rows) else Divided(inputs)


def check_alike(model: nn.Module, generator: Generator) -> None:
    """Raise a ReweighError unless all processes still train the same model; then make torch's generators agree."""
    if not _joined:
        return
    digest = hashlib.blake2b(digest_size=8)
    for tensor in (*model.parameters(), generator.get_state()):
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    mine = torch.frombuffer(bytearray(digest.digest()), dtype=torch.int64)
    random = torch.get_rng_state()
    with collective():
        same = gather(mine, shares(distributed.get_world_size()))
        distributed.broadcast(random, src=0)
    if len(same.unique()) > 1:
        raise ReweighError(
            "the processes no longer have the same model. They must run the same software on the same kind of "
            "hardware, with operations that give the same result in every process (on a GPU, "
            "torch.use_deterministic_algorithms(True) enforces that), and without activation checkpointing"
        )
    torch.set_rng_state(random)

"""Inputs that do not fit in memory: read when a batch needs them, or ahead of it by worker processes."""

import logging
import mmap
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from reweigh.data.dataset import Dataset, raise_all
from reweigh.data.inputs import Fetched, Inputs, Standardize, StandardizeLater, standardize_like
from reweigh.errors import DataError, ReweighError
from reweigh.files.row_cache import cache_root, megabytes

log = logging.getLogger(__name__)
DEFAULT_DISK_GB = 20.0
DEFAULT_MEMORY_GB = 2.0  # larger sets are read on demand
SAMPLES_FOR_SCALE = (
    250  # inputs from which mean and standard deviation are computed; 250 photos have millions of pixels
)
BATCHES_AHEAD = 2  # batches that each worker process reads ahead
SHARED_MEMORY = "/dev/shm"  # memory through which worker processes pass batches; containers often have little of it


class Scratch:
    """Room for samples in an unnamed file, which disappears when the last process that uses it ends.

    Processes that were forked share it. See ``scratch``, which makes one if there is room.
    """

    def __init__(self, folder: str | os.PathLike[str], slots: int, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        values = torch.Size(shape).numel()
        size = slots * (values * dtype.itemsize + 1)
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, size)  # a full disk would kill the process that writes
            memory = mmap.mmap(file.fileno(), size)
        self._rows = torch.frombuffer(memory, dtype=dtype, count=slots * values).view(slots, *shape)
        self._known = torch.frombuffer(memory, dtype=torch.bool, offset=size - slots)

    def get(self, slot: int) -> Tensor | None:
        """The sample in a slot; None if nothing was put there."""
        return self._rows[slot] if self._known[slot] else None

    def put(self, slot: int, sample: Tensor) -> None:
        """Keep a sample."""
        self._rows[slot] = sample
        self._known[slot] = True


def scratch(slots: int, shape: tuple[int, ...], dtype: torch.dtype, disk_gb: float) -> Scratch | None:
    """Room for this many samples in the cache folder; None if that exceeds ``disk_gb``, or half of what is free."""
    needed = slots * (torch.Size(shape).numel() * dtype.itemsize + 1)
    if needed > disk_gb * 1e9 or not hasattr(os, "posix_fallocate"):
        return None
    try:
        folder = cache_root()
        folder.mkdir(parents=True, exist_ok=True)
        if needed > shutil.disk_usage(folder).free / 2:
            return None
        found = Scratch(folder, slots, shape, dtype)
    except OSError as error:
        log.info("images are decoded whenever they are needed: no room for them on disk (%s)", error)
        return None
    log.info("decoded images are kept in %s, %s, until training ends", folder, megabytes(needed))
    return found


class OnDemand(Fetched):
    """Inputs that a function reads one by one: a single batch in several threads, many batches in worker processes.

    Args:
        read_one: Index -> the sample, of ``shape`` and ``dtype``.
        disk_gb: Gigabytes that decoded samples may take on disk during a training; larger sets are decoded again
            whenever they are needed.
    """

    def __init__(
        self,
        read_one: Callable[[int], Tensor],
        length: int,
        shape: tuple[int, ...],
        dtype: torch.dtype = torch.uint8,
        content: Callable[[int], Sequence[bytes]] | None = None,
        disk_gb: float = DEFAULT_DISK_GB,
    ) -> None:
        self.read_one = read_one
        self.length = length
        self.shape = shape
        self.dtype = dtype
        self.content = content
        self.disk_gb = disk_gb
        self._kept: Scratch | None = None
        self._part, self._parts = 0, 1

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Tensor, /) -> Tensor:
        rows = index.nonzero().flatten() if index.dtype == torch.bool else index
        indices = torch.where(rows < 0, rows + self.length, rows).tolist()
        batch = torch.empty((len(indices), *self.shape), dtype=self.dtype)
        threads = min(processors(), len(indices))
        shares = [range(first, len(indices), threads) for first in range(threads)]
        if len(shares) <= 1:
            self._fill(batch, indices, range(len(indices)))
            return batch
        with ThreadPoolExecutor(len(shares)) as pool:
            list(pool.map(lambda rows: self._fill(batch, indices, rows), shares))
        return batch

    def _fill(self, batch: Tensor, indices: Sequence[int], rows: range) -> None:
        for row in rows:
            batch[row] = self._one(indices[row])

    def _one(self, index: int) -> Tensor:
        slot, other = divmod(index - self._part, self._parts)
        if self._kept is None or other:
            return self.read_one(index)
        found = self._kept.get(slot)
        if found is None:
            found = self.read_one(index)
            self._kept.put(slot, found)
        return found

    def keep(self, part: int, parts: int) -> None:
        """From now on, decode these samples once; see ``scratch``."""
        if self._kept is None:
            self._part, self._parts = part, parts
            self._kept = scratch(-(-self.length // parts), self.shape, self.dtype, self.disk_gb)

    def ahead(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        """The samples at each of these indices in turn, read ahead by worker processes of torch's ``DataLoader``.

        Without ``fork``, or with little shared memory, each batch is read when it is needed.
        """
        largest = max(map(len, batches), default=0) * torch.Size(self.shape).numel() * self.dtype.itemsize
        workers = min(processors(), len(batches), shared_memory() // max(1, largest * (BATCHES_AHEAD + 1)))
        if workers == 0 or len(batches) == 1:
            yield from super().ahead(batches)
            return
        from torch.utils.data import DataLoader

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python: that torch has threads when it forks
            warnings.filterwarnings("ignore", "This DataLoader will create")  # more than processors, as asked for
            loader = DataLoader(
                _Batches(self),  # pyright: ignore[reportArgumentType]
                batch_size=None,
                sampler=map(Tensor.tolist, batches),  # a tensor would be passed on through a file of its own
                num_workers=workers,
                prefetch_factor=BATCHES_AHEAD,
                worker_init_fn=_ended_by_its_parent,
                multiprocessing_context="fork",
                generator=torch.Generator(),  # otherwise it draws from torch's own
            )
            running = iter(loader)
        try:
            for found in running:
                if isinstance(found, ReweighError):
                    raise found
                yield found
        except RuntimeError as error:
            if "worker" not in str(error):
                raise
            raise DataError(
                f"a process that reads samples has ended ({str(error).splitlines()[0]}); is there enough memory?"
            ) from error

    def in_memory(self) -> Tensor:
        """All inputs as one tensor."""
        return self[torch.arange(self.length)]


class _Batches:
    """What a worker process does: read the samples of a batch one by one."""

    def __init__(self, inputs: OnDemand) -> None:
        self._inputs = inputs

    def __getitem__(self, index: list[int]) -> Tensor | ReweighError:
        from torch.utils.data import default_collate

        if not index:  # the share of one process in a small batch
            return self._inputs[torch.tensor(index, dtype=torch.int64)]
        try:
            # stacked in shared memory, so that the batch is not copied on its way to the training process
            return default_collate([self._inputs._one(row) for row in index])
        except ReweighError as error:
            return error  # raised there it would come with the traceback of this process


def _ended_by_its_parent(worker: int) -> None:
    """Leave Ctrl-C and SIGTERM, which often reach all processes of a training, to the one that trains.

    It finishes its step, for which it needs its workers, and then ends them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "sigwaitinfo"):  # not on macOS
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        parent = os.getppid()

        def wait() -> None:
            while signal.sigwaitinfo([signal.SIGTERM]).si_pid != parent:
                pass
            os._exit(0)

        threading.Thread(target=wait, daemon=True).start()


def processors() -> int:
    """How many threads or processes read: one per processor, at most eight; those of torchrun share them."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(8, available // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))


def shared_memory() -> int:
    """Bytes of memory for passing batches between worker processes; 0 if there is none."""
    if "fork" not in multiprocessing.get_all_start_methods() or not os.path.isdir(SHARED_MEMORY):
        return 0
    return shutil.disk_usage(SHARED_MEMORY).free // 2


def standardize_by_some(inputs: Inputs) -> Standardize:
    """The normalization by all inputs if they are in memory, otherwise by some of them, read when it is first used."""
    return standardize_like(inputs) if isinstance(inputs, Tensor) else StandardizeLater(partial(some_of, inputs))


def some_of(inputs: Inputs) -> Tensor:
    """A few hundred inputs at random, from which to compute mean and standard deviation."""
    index = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0))[:SAMPLES_FOR_SCALE]
    try:
        return inputs[index]
    except DataError:  # some cannot be read, which is reported where they are needed
        found = []
        for place in index.split(1):
            with suppress(DataError):
                found.append(inputs[place])
        return torch.cat(found)


def fits(length: int, shape: tuple[int, ...], dtype: torch.dtype, memory_gb: float) -> bool:
    """Whether this many samples fit in ``memory_gb`` gigabytes (10^9 bytes)."""
    return length * torch.Size(shape).numel() * dtype.itemsize <= memory_gb * 1e9


class Patched(Fetched):
    """Inputs that are read on demand, some of them from another dataset.

    Args:
        source: Index into ``foreign`` for each sample, -1 for its own input, shape (N,).
    """

    def __init__(self, inputs: Inputs, foreign: Inputs, source: Tensor) -> None:
        self.inputs, self.foreign, self.source = inputs, foreign, source

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        source = self.source[index]
        batch = self.inputs[index]  # fetched by index, so a copy
        batch[source >= 0] = self.foreign[source[source >= 0]].to(batch.dtype)
        return batch


def replace_inputs(dataset: Dataset, replaced: Tensor, foreign: Inputs, seed: int) -> Dataset:
    """Give each ``replaced`` sample a foreign input under its own label; none is used twice while there are enough."""
    theirs = foreign[torch.empty(0, dtype=torch.int64)]
    own = dataset.inputs[torch.empty(0, dtype=torch.int64)]
    mistakes = []
    if replaced.shape != (len(dataset),) or replaced.dtype != torch.bool:
        mistakes.append(
            f"replaced: {tuple(replaced.shape)} of {replaced.dtype}; give one boolean per sample, ({len(dataset)},)"
        )
    if (theirs.shape, theirs.dtype) != (own.shape, own.dtype):
        mistakes.append(
            f"foreign inputs: {tuple(theirs.shape[1:])} of {theirs.dtype}, "
            f"the data have {tuple(own.shape[1:])} of {own.dtype}; resize or convert them first"
        )
    if len(foreign) == 0:
        mistakes.append("foreign inputs: there are none")
    raise_all(mistakes, "open set")
    rows = replaced.nonzero().squeeze(1)
    order = np.random.default_rng(seed).permutation(len(foreign))
    source = torch.full((len(dataset),), -1, dtype=torch.int64)
    source[rows] = torch.from_numpy(np.resize(order, len(rows)))
    patched = Patched(dataset.inputs, foreign, source)
    if isinstance(dataset.inputs, Tensor):
        return replace(dataset, inputs=patched[torch.arange(len(dataset))])
    return replace(dataset, inputs=patched)

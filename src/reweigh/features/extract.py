"""Features of all samples: what is cached is read, the rest is computed by several threads, a batch each."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from math import inf
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reweigh.data import Inputs
from reweigh.data.checks import at_rows
from reweigh.data.inputs import Fetched
from reweigh.data.on_demand import fits
from reweigh.errors import DataError
from reweigh.features.network import Network
from reweigh.features.stored_rows import StoredRows, find
from reweigh.features.text_network import TextNetwork, Texts
from reweigh.files.row_cache import RowCache, digest
from reweigh.names import plural
from reweigh.threads import threads

SAMPLES_PER_READ = 64  # samples that are read at once
ROWS_PER_STORE = 512  # rows that are computed before they are stored; what an interruption may cost
MAX_SHOWN_CHARS = 60  # letters of a text
AT_ONCE = 1000  # samples whose digests are taken together

Count = Callable[[int, int], None]
"""Called with the number of samples that are done, and of all."""


class Extracted(NamedTuple):
    """Features of samples.

    Attributes:
        rows: Shape (N, width) float32; a row of a sample that cannot be read is NaN.
        unreadable: Why samples cannot be read, by index.
    """

    rows: Tensor | StoredRows
    unreadable: dict[int, str]


def extract(
    inputs: Inputs | Texts,
    network: Network | TextNetwork,
    device: torch.device | str = "cpu",
    cache: bool = True,
    count: Count | None = None,
    memory_gb: float = inf,
) -> Extracted:
    """The features of every sample.

    Args:
        inputs: Raw images, in memory or read on demand, or strings.
        cache: Whether to read and store features on disk, by content and network.
        count: Called after each batch that is computed.
        memory_gb: Gigabytes that the features may take in memory; more stay in the cache, if there is one, and are
            read from there.

    Raises:
        DataError: The network gives NaN or infinity; says for which samples.
        StorageError: The cache does not fit on the disk; said before anything is computed.
    """
    store = RowCache(network.key(), network.width) if cache else None
    digests = list(digests_of(inputs)) if store else []
    rows = find(store, digests) if store else torch.full((len(inputs), network.width), torch.nan)
    todo = torch.arange(len(inputs)) if isinstance(rows, Tensor) else rows.missing.nonzero().flatten()
    if store and len(todo):
        store.reserve(len(todo))
    unreadable: dict[int, str] = {}
    wrong: list[int] = []
    wait: list[tuple[Tensor, Tensor]] = []
    batches = todo.split(SAMPLES_PER_READ) if len(todo) else ()
    with evaluating(network, device):
        for done, (index, some, broken) in enumerate(computed(inputs, network, batches, device), start=1):
            unreadable |= broken
            finite = some.isfinite().all(1)
            wrong += index[~finite].tolist()
            if isinstance(rows, Tensor):
                rows[index] = some
            else:
                wait.append((index[finite], some[finite]))
                if done == len(batches) or sum(len(index) for index, _ in wait) >= ROWS_PER_STORE:
                    assert store is not None
                    keep(store, digests, rows, wait)
                    wait = []
            if count:
                count(min(done * SAMPLES_PER_READ, len(todo)), len(todo))
    if wrong:
        raise DataError(
            f"features {network.name!r}: NaN or infinity for {plural(len(wrong), 'sample')}, {which(inputs, wrong)}; "
            "check the weights of the network, and these samples"
        )
    if isinstance(rows, StoredRows) and fits(len(rows), (rows.width,), torch.float32, memory_gb):
        rows = rows.in_memory()
    return Extracted(rows, unreadable)


def stored(inputs: Inputs, network: Network) -> StoredRows:
    """The features that an earlier call stored on disk; NaN for a sample without any."""
    return find(RowCache(network.key(), network.width), list(digests_of(inputs)))


def keep(
    store: RowCache, digests: Sequence[bytes], rows: StoredRows, computed: Sequence[tuple[Tensor, Tensor]]
) -> None:
    """Store what was computed for the samples at some indices."""
    index, some = (torch.cat(parts) for parts in zip(*computed, strict=True))
    if len(index):
        rows.add(index, store.add([digests[place] for place in index.tolist()], some))


def which(inputs: Inputs | Texts, index: list[int]) -> str:
    """Samples in words: the beginning of each text, otherwise their rows."""
    if isinstance(inputs, Texts):
        return f"such as {inputs.texts[index[0]][:MAX_SHOWN_CHARS]!r}"
    return at_rows(index)


def computed(
    inputs: Inputs | Texts, network: Network | TextNetwork, batches: Sequence[Tensor], device: torch.device | str
) -> Iterator[tuple[Tensor, Tensor, dict[int, str]]]:
    """The indices, features and unreadable samples of each batch, in order.

    On a CPU, as many batches are read and computed side by side as torch has threads, each in one thread: threads that
    share the operations of one batch wait for each other at each of them, on a busy machine nearly all the time.
    """
    on_cpu = torch.device(device).type == "cpu"
    workers = torch.get_num_threads() if on_cpu else 2

    def compute(index: Tensor) -> tuple[Tensor, Tensor, dict[int, str]]:
        left, samples, broken = read_batch(inputs, index)
        if not len(left):
            return left, torch.empty(0, network.width), broken
        with torch.inference_mode():  # each thread has its own mode
            return left, network.rows(samples, device).float().cpu(), broken

    waiting: deque[Future[tuple[Tensor, Tensor, dict[int, str]]]] = deque()
    with threads(1 if on_cpu else None), ThreadPoolExecutor(workers) as pool:
        try:
            for index in batches:
                waiting.append(pool.submit(compute, index))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def read_batch(inputs: Inputs | Texts, index: Tensor) -> tuple[Tensor, Any, dict[int, str]]:
    """The samples at ``index`` that can be read, and why the others cannot."""
    try:
        return index, inputs[index], {}
    except DataError:
        fine, broken = [], {}
        for place in index.tolist():
            try:
                inputs[torch.tensor([place])]
                fine.append(place)
            except DataError as error:
                broken[place] = str(error)
        left = torch.tensor(fine, dtype=torch.int64)
        return left, inputs[left], broken


def digests_of(inputs: Inputs | Texts) -> Iterator[bytes]:
    """A digest of each sample: of its file and how it is read, of its text, or of its numbers."""
    content = inputs.content if isinstance(inputs, Fetched | Texts) else None
    if content is not None:
        for place in range(len(inputs)):
            yield digest(*content(place))
        return
    assert not isinstance(inputs, Texts)
    for index in torch.arange(len(inputs)).split(AT_ONCE):
        some = inputs[index].contiguous()
        form = f"{some.dtype} {tuple(some.shape[1:])}".encode()
        for sample in some.flatten(1).view(torch.uint8).numpy():
            yield digest(form, sample.data)


@contextmanager
def evaluating(network: Network | TextNetwork, device: torch.device | str) -> Iterator[None]:
    """Inside, the network is on the device and in evaluation mode; afterward in the mode before."""
    module = network.module
    training = module.training
    module.to(device).eval()
    try:
        yield
    finally:
        module.train(training)

"""Features of all samples, in memory or on disk: what is cached is read, the rest is computed by several threads."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from reweigh.data import Inputs
from reweigh.data.dataset import at_rows
from reweigh.data.inputs import Fetched, Standardize, standardize_like
from reweigh.data.on_demand import fits
from reweigh.data.tables.text import TextRows
from reweigh.errors import DataError
from reweigh.features.foreign import TextNetwork, Texts
from reweigh.features.network import Network
from reweigh.files.row_cache import RowCache, digest, mapped
from reweigh.names import plural
from reweigh.threads import threads

ROWS_AT_ONCE = 1000  # rows


class StoredRows(Fetched):
    """The rows of a cache that belong to some samples; NaN for a sample without any.

    Another process that gets this object maps the same files.

    Args:
        places: Shape (N, 2): in which part the row of each sample is, -1 for none, and at which place in it.
    """

    def __init__(self, width: int, places: Tensor, parts: Sequence[Path]) -> None:
        self.width, self.places, self.parts = width, places, list(parts)
        self._mapped: dict[int, np.ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_mapped": {}}

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        rows = [self._part(part)[place] for part, place in self.places[index].tolist()]
        return torch.from_numpy(np.stack(rows)) if rows else torch.empty(0, self.width)

    def _part(self, number: int) -> np.ndarray:
        if number not in self._mapped:
            nothing = np.full((1, self.width), np.nan, dtype=np.float32)
            self._mapped[number] = nothing if number < 0 else mapped(self.parts[number]).numpy()
        return self._mapped[number]

    @property
    def missing(self) -> Tensor:
        """Which samples have no row, shape (N,) bool."""
        return self.places[:, 0] < 0

    def add(self, index: Tensor, part: Path) -> None:
        """Let a part hold the rows of the samples at ``index``, in that order."""
        self.places[index] = torch.stack([torch.full_like(index, len(self.parts)), torch.arange(len(index))], dim=1)
        self.parts.append(part)

    def in_memory(self) -> Tensor:
        """All rows as one tensor."""
        rows = torch.empty(len(self), self.width)
        for index in torch.arange(len(self)).split(ROWS_AT_ONCE):
            rows[index] = self[index]
        return rows


def joined(shares: Sequence[Tensor | StoredRows]) -> Tensor | StoredRows:
    """The rows of several shares of the samples one after another."""
    if len(shares) == 1:
        return shares[0]
    on_disk = [share for share in shares if isinstance(share, StoredRows)]
    if len(on_disk) < len(shares):
        return torch.cat([share if isinstance(share, Tensor) else share.in_memory() for share in shares])
    places, parts = [], []
    for share in on_disk:
        places.append(share.places + torch.tensor([len(parts), 0]) * ~share.missing[:, None])
        parts += share.parts
    return StoredRows(on_disk[0].width, torch.cat(places), parts)


SAMPLES_PER_READ = 64  # samples that are read at once
ROWS_PER_STORE = 512  # rows that are computed before they are stored; what an interruption may cost
MAX_SHOWN_CHARS = 60  # letters of a text
DIGESTS_AT_ONCE = 1000  # samples whose digests are taken together

Count = Callable[[int, int], None]
"""Called with the number of samples that are done, and of all."""


class Extracted(NamedTuple):
    """Features of samples.

    Attributes:
        rows: Shape (N, width) float32; a row of a sample that cannot be read is NaN.
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
        memory_gb: Gigabytes that the features may take in memory; more stay in the cache, if there is one, and are
            read from there.
    """
    store = RowCache(network.key(), network.width) if cache else None
    digests = list(digests_of(inputs)) if store else []
    rows = (
        StoredRows(store.width, *store.find(digests)) if store else torch.full((len(inputs), network.width), torch.nan)
    )
    todo = torch.arange(len(inputs)) if isinstance(rows, Tensor) else rows.missing.nonzero().flatten()
    if store and len(todo):
        store.reserve(len(todo))
    unreadable: dict[int, str] = {}
    wrong: list[int] = []
    wait: list[tuple[Tensor, Tensor]] = []
    batches = todo.split(SAMPLES_PER_READ) if len(todo) else ()
    module, training = network.module, network.module.training
    module.to(device).eval()
    try:
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
                    places, values = (torch.cat(parts) for parts in zip(*wait, strict=True))
                    if len(places):
                        rows.add(places, store.add([digests[place] for place in places.tolist()], values))
                    wait = []
            if count:
                count(min(done * SAMPLES_PER_READ, len(todo)), len(todo))
    finally:
        module.train(training)
    if wrong:
        shown = f"such as {inputs.texts[wrong[0]][:MAX_SHOWN_CHARS]!r}" if isinstance(inputs, Texts) else at_rows(wrong)
        raise DataError(
            f"features {network.name!r}: NaN or infinity for {plural(len(wrong), 'sample')}, {shown}; check the "
            "weights of the network, and these samples"
        )
    if isinstance(rows, StoredRows) and fits(len(rows), (rows.width,), torch.float32, memory_gb):
        rows = rows.in_memory()
    return Extracted(rows, unreadable)


def stored(inputs: Inputs, network: Network) -> StoredRows:
    """The features that an earlier call stored on disk; NaN for a sample without any."""
    return StoredRows(network.width, *RowCache(network.key(), network.width).find(list(digests_of(inputs))))


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
    for index in torch.arange(len(inputs)).split(DIGESTS_AT_ONCE):
        some = inputs[index].contiguous()
        form = f"{some.dtype} {tuple(some.shape[1:])}".encode()
        for sample in some.flatten(1).view(torch.uint8).numpy():
            yield digest(form, sample.data)


def encoded(
    inputs: Inputs,
    network: TextNetwork,
    device: torch.device | str = "cpu",
    cache: bool = True,
    count: Count | None = None,
) -> Tensor:
    """Features of rows with text, shape (N, D + columns * width): of the D others first, then of each text column.

    Each distinct text passes the network once, those of a length together. A missing text has NaN.
    """
    found = TextRows.behind(inputs)
    if found is None:
        raise DataError(f"features {network.name!r}: no text column, but training had one; give the same columns")
    table, index = found
    chosen = [cells.codes[index.numpy()] for cells in table.texts]
    used = [
        {cells.distinct[code] for code in np.unique(codes) if code >= 0}
        for cells, codes in zip(table.texts, chosen, strict=True)
    ]
    texts = sorted(set().union(*used), key=lambda text: (len(text), text))
    row = {text: place for place, text in enumerate(texts)}
    rows = extract(Texts(texts), network, device, cache, count).rows
    assert isinstance(rows, Tensor)
    rows = torch.cat([rows, torch.full((1, network.width), torch.nan)])  # the last one is for what is missing
    parts = [table.rest[index]]
    for cells, codes in zip(table.texts, chosen, strict=True):
        places = np.array([*(row.get(text, -1) for text in cells.distinct), -1])
        parts.append(rows[torch.from_numpy(places[codes])])
    return torch.cat(parts, dim=1)


def scale_of(rows: Tensor, others: int) -> Standardize:
    """The normalization of features of text; the other columns are normalized already.

    Args:
        rows: Shape (N, D), NaN where text is missing.
        others: Number of features of other columns, which come first.
    """
    own = standardize_like(filled(rows, rows.nanmean(0).nan_to_num()))
    mean, std = own.mean.clone(), own.std.clone()
    mean[:others], std[:others] = 0.0, 1.0
    return Standardize(mean, std)


def filled(rows: Tensor, mean: Tensor) -> Tensor:
    """The rows with the mean of each feature for what is missing."""
    return torch.where(rows.isnan(), mean, rows)

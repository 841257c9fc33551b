"""Features of all samples: what is cached is read, the rest is computed by several threads."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from reweigh.data import Inputs
from reweigh.data.dataset import at_rows
from reweigh.data.inputs import Fetched, Standardize, standardize_like
from reweigh.data.tables.text import TextRows
from reweigh.errors import DataError
from reweigh.features.foreign import TextNetwork, Texts
from reweigh.features.network import Network
from reweigh.files.row_cache import RowCache, digest
from reweigh.names import plural
from reweigh.threads import threads

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

    rows: Tensor
    unreadable: dict[int, str]


def extract(
    inputs: Inputs | Texts,
    network: Network | TextNetwork,
    device: torch.device | str = "cpu",
    cache: bool = True,
    count: Count | None = None,
) -> Extracted:
    """The features of every sample."""
    store = RowCache(network.key(), network.width) if cache else None
    digests = list(digests_of(inputs)) if store else []
    rows = torch.full((len(inputs), network.width), torch.nan)
    todo = store.fill(digests, rows).nonzero().flatten() if store else torch.arange(len(inputs))
    if store and len(todo):
        store.reserve(len(todo))
    unreadable: dict[int, str] = {}
    wrong: list[int] = []
    wait: list[Tensor] = []
    batches = todo.split(SAMPLES_PER_READ) if len(todo) else ()
    module, training = network.module, network.module.training
    module.to(device).eval()
    try:
        for done, (index, some, broken) in enumerate(computed(inputs, network, batches, device), start=1):
            unreadable |= broken
            finite = some.isfinite().all(1)
            wrong += index[~finite].tolist()
            rows[index] = some
            wait.append(index[finite])
            if store and (done == len(batches) or sum(map(len, wait)) >= ROWS_PER_STORE):
                places, wait = torch.cat(wait), []
                if len(places):
                    store.add([digests[place] for place in places.tolist()], rows[places])
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
    return Extracted(rows, unreadable)


def stored(inputs: Inputs, network: Network) -> Tensor:
    """The features that an earlier call stored on disk, shape (N, width); NaN for a sample without any."""
    rows = torch.full((len(inputs), network.width), torch.nan)
    RowCache(network.key(), network.width).fill(list(digests_of(inputs)), rows)
    return rows


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

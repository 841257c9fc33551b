"""Samples that belong together: equal and nearly equal inputs, and groups of the user's."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.data.dataset import Dataset
from reweigh.data.inputs import Fetched, Inputs, SparseRows
from reweigh.data.on_demand import OnDemand
from reweigh.errors import DataError, StorageError
from reweigh.files.row_cache import RowCache, digest

MAX_EQUAL_BY_CHANCE = 0.2  # rows equal to a row that are expected by chance; with more, equal rows need not be copies
MAX_CHAIN = 0.05  # share of the samples that are one after the other nearly the same; more are not copies
ROWS_AT_ONCE = 1000
READ_AT_ONCE = 500
MAX_DISTANCES = 20_000_000  # distances at a time
MIN_PICTURES, MAX_PICTURES = 50, 20_000  # pictures whose pairs are all compared: fewer say too little, more take long
MIN_SIDE = 16  # pixels; smaller pictures, such as digits of 8 x 8, are alike without being copies
THUMBNAIL_SIDE = 12  # pixels
MAX_DISTANCE = 0.02  # between thumbnails of copies: one minus their correlation
MAX_RELATIVE_DISTANCE = 0.2  # the same, in mean distances of their next ten neighbors
NEXT_NEIGHBORS = 10


def groups_of(dataset: Dataset) -> Tensor | None:
    """Which samples belong together, shape (N,): those of one group of the user's, and copies; None if none do."""
    return joined(dataset.groups, copies(dataset))


def joined(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Groups in which all samples are together that are together in one of two groupings.

    >>> joined(torch.tensor([0, 0, 1, 2]), torch.tensor([5, 6, 6, 7])).tolist()
    [0, 0, 0, 1]
    """
    if first is None or second is None:
        return second if first is None else first
    _, one = np.unique(first.numpy(), return_inverse=True)
    _, other = np.unique(second.numpy(), return_inverse=True)
    part = _connected(one, other + one.max() + 1)
    return torch.from_numpy(np.unique(part[one], return_inverse=True)[1])


def near_copies(near: Tensor) -> Tensor | None:
    """Samples that are nearly the same as groups, shape (N,); None if there are none.

    A chain of many samples of which each is like the next is a kind of sample, not copies of one: it is left out.

    >>> near_copies(torch.tensor([-1, 2, -1, 2] + [-1] * 60))[:5].tolist()
    [0, 1, 1, 1, 2]

    Args:
        near: Shape (N,), index of a sample that is nearly the same, or -1.
    """
    alone = torch.arange(len(near))
    part = _connected(alone.numpy(), torch.where(near >= 0, near, alone).numpy())
    size = np.bincount(part)[part]
    part = np.where(size > max(2, MAX_CHAIN * len(near)), part.max() + 1 + np.arange(len(part)), part)
    _, found = np.unique(part, return_inverse=True)
    return None if found.max() + 1 == len(found) else torch.from_numpy(found)


def _connected(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The connected part that each node of a graph is in; edge i joins node ``first[i]`` with node ``second[i]``."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes = int(max(first.max(), second.max())) + 1
    return connected_components(coo_array((np.ones(len(first)), (first, second)), shape=(nodes, nodes)), False)[1]


def copies(dataset: Dataset) -> Tensor | None:
    """The samples with equal inputs as groups, shape (N,); None if there are none, or if they need not be copies.

    Photos and rows of measured numbers are equal if they are copies; rows of a few categories are equal by chance, and
    to part them from each other would hide from a model what it can know.
    """
    inputs, found = dataset.inputs, equal_inputs(dataset)
    if found is None or not isinstance(inputs, Tensor) or dataset.is_images:
        return found
    encoding = dataset.reading.encoding
    widths = [1] * dataset.shape[0] if encoding is None else [len(each.feature_names) for each in encoding.columns]
    first = first_of(found)
    columns = (equal_numbers(block.numpy()) for block in inputs[first].flatten(1).split(widths, dim=1))
    return None if by_chance(columns, len(first)) else found


def equal_inputs(dataset: Dataset) -> Tensor | None:
    """The samples with equal inputs, copies or not, as groups, shape (N,); None if there are none, or not in memory."""
    inputs = dataset.inputs
    return equal(_rows(inputs)) if isinstance(inputs, Tensor | SparseRows) and len(inputs) else None


def near_pictures(dataset: Dataset) -> Tensor | None:
    """Pictures that are nearly the same, such as another size or compression of one, as groups; None if there are none.

    Thumbnails are compared, regardless of brightness and contrast. Two of them belong to copies if they are far closer
    to each other than to the next ten: pictures of a kind may all be alike.
    """
    if not dataset.is_images or min(dataset.shape[1:]) < MIN_SIDE:
        return None
    if not MIN_PICTURES <= len(dataset) <= MAX_PICTURES:
        return None
    rows = thumbnails(dataset.inputs)
    distance, index = nearest(rows - rows.mean(1, keepdim=True), 1 + NEXT_NEIGHBORS)
    first, other, around = distance[:, 0], index[:, 0], distance[:, 1:].mean(1)
    close = (first < MAX_DISTANCE) & (first < MAX_RELATIVE_DISTANCE * torch.minimum(around, around[other]))
    return near_copies(torch.where(close, other, -1))


def thumbnails(pictures: Inputs) -> Tensor:
    """Gray thumbnails, shape (N, THUMBNAIL_SIDE**2); what cannot be read is black. Files are read once, then cached."""

    def one(row: int) -> Tensor:
        try:
            gray = pictures[torch.tensor([row])].float().mean(1)
        except DataError:  # said where it is read to be learned from
            return torch.zeros(THUMBNAIL_SIDE**2)
        return F.adaptive_avg_pool2d(gray, THUMBNAIL_SIDE).flatten()

    def key(row: int) -> bytes:
        try:
            return digest(*content(row)) if content is not None else b""
        except DataError:
            return digest(f"unreadable {row}".encode())

    rows, everything = torch.zeros(len(pictures), THUMBNAIL_SIDE**2), range(len(pictures))
    content = pictures.content if isinstance(pictures, Fetched) else None
    if content is None:
        return torch.stack([one(row) for row in everything])
    store, keys = RowCache("thumbnails", THUMBNAIL_SIDE**2), [key(row) for row in everything]
    if len(missing := store.fill(keys, rows).nonzero().flatten()):
        source = OnDemand(lambda row: one(int(missing[row])), len(missing), rows.shape[1:], torch.float32)
        rows[missing] = torch.cat(list(source.ahead(torch.arange(len(missing)).split(READ_AT_ONCE))))
        with suppress(StorageError):  # then they are read again next time
            store.add([keys[row] for row in missing.tolist()], rows[missing])
    return rows


def nearest(rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Cosine distances and indices of the k nearest other samples, the nearest first, each of shape (N, k). Exact."""
    unit = F.normalize(rows.float(), dim=1)
    distances, indices = [], []
    for some in torch.arange(len(unit)).split(max(1, MAX_DISTANCES // len(unit))):
        all_of = 1 - unit[some] @ unit.T
        all_of[torch.arange(len(some)), some] = torch.inf
        found = all_of.topk(k, largest=False)
        distances.append(found.values.clamp_min(0))
        indices.append(found.indices)
    return torch.cat(distances), torch.cat(indices)


def first_of(groups: Tensor) -> Tensor:
    """The index of the first sample of each group, in order."""
    return torch.from_numpy(np.sort(np.unique(groups.numpy(), return_index=True)[1]))


def _rows(inputs: Tensor | SparseRows) -> Iterator[bytes]:
    """The content of each sample."""
    if isinstance(inputs, SparseRows):
        matrix = inputs.matrix
        for first, end in pairwise(matrix.indptr.tolist()):
            yield matrix.indices[first:end].tobytes() + matrix.data[first:end].tobytes()
    else:
        for some in inputs.split(ROWS_AT_ONCE):
            yield from (row.tobytes() for row in some.flatten(1).contiguous().numpy())


def equal(contents: Iterable[bytes]) -> Tensor | None:
    """What has the same content as groups, shape (N,); None if nothing has, or all: then nothing could be parted."""
    seen: dict[bytes, int] = {}
    found = [seen.setdefault(blake2b(content, digest_size=16).digest(), len(seen)) for content in contents]
    return None if len(seen) in (1, len(found)) else torch.tensor(found)


def equal_numbers(block: np.ndarray) -> np.ndarray:
    """A number for each row of a column, the same for the same content."""
    return np.unique(block, axis=0 if block.shape[1] > 1 else None, return_inverse=True)[1].reshape(-1)


def by_chance(columns: Iterable[np.ndarray], rows: int) -> bool:
    """Whether rows may be equal without being copies: if that is likely where columns are independent of each other.

    Args:
        columns: The cells of each column of different rows as numbers from 0 on, shape (rows,); -1 for gaps.
    """
    expected = float(rows - 1)
    for numbers in columns:
        counts = np.bincount(numbers + 1)
        expected *= float((counts * (counts - 1.0)).sum()) / max(1, rows * (rows - 1))
        if expected <= MAX_EQUAL_BY_CHANCE:
            return False
    return True

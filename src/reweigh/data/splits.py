"""Draw parts of a dataset: the same share of each class, and copies and the like on one side."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from reweigh.data.dataset import Dataset
from reweigh.data.inputs import Fetched, Inputs, SparseRows
from reweigh.data.on_demand import OnDemand
from reweigh.errors import DataError, StorageError
from reweigh.files.row_cache import RowCache, digest
from reweigh.names import plural


def stratified(labels: Tensor, size: int, seed: int, what: str = "size", groups: Tensor | None = None) -> Tensor:
    """Indices of ``size`` samples, in order, with the share of each class kept to within one sample.

    With the same seed, a smaller part is contained in every larger one. With groups, all this holds only about.

    Args:
        groups: Shape (N,), samples of the same number are chosen together, and never all of them; None if all are free.
    """
    if not 0 < size <= len(labels):
        raise DataError(f"{what}: {size}; the data have {plural(len(labels), 'sample')}, so give 1 to {len(labels)}")
    order = np.random.default_rng(seed).permutation(len(labels))
    if groups is not None:  # each next to the first of its group
        _, first, number = np.unique(groups.numpy()[order], return_index=True, return_inverse=True)
        order = order[np.argsort(first[number], kind="stable")]
    shuffled = labels.numpy()[order]
    rank = np.empty(len(labels))
    for number in np.unique(shuffled):
        members = np.flatnonzero(shuffled == number)
        rank[members] = (np.arange(len(members)) + 0.5) / len(members)
    if groups is None:
        return torch.from_numpy(np.sort(order[np.argsort(rank, kind="stable")[:size]]))
    _, number = np.unique(groups.numpy()[order], return_inverse=True)
    sizes = np.bincount(number)
    if len(sizes) == 1:
        raise DataError(f"{what}: all {plural(len(labels), 'sample')} are in one group; give groups that can be parted")
    chosen, total = [], 0
    for group in np.argsort(np.bincount(number, rank) / sizes, kind="stable").tolist():
        if total + sizes[group] / 2 <= size and total + sizes[group] < len(labels):  # comes nearer to the size
            chosen.append(group)
            total += sizes[group]
    return torch.from_numpy(np.sort(order[np.isin(number, chosen or [int(sizes.argmin())])]))


def stratified_folds(
    labels: Tensor, folds: int, least: int, generator: Generator, groups: Tensor | None = None
) -> Tensor:
    """The fold of each sample, shape (N,), counted from 0; within a class, the sizes of folds differ by at most one.

    Samples without a label and samples of small classes are never held out; their fold is -1. With groups, sizes differ
    by as little as a greedy choice finds; classes of one group, and what is grouped with them, are never held out.

    >>> labels, groups = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1]), torch.tensor([0, 0, 1, 2, 3, 3, 4, 5])
    >>> fold = stratified_folds(labels, 2, 2, Generator().manual_seed(0), groups)
    >>> bool(fold[0] == fold[1]), bool(fold[4] == fold[5]), torch.bincount(fold).tolist()
    (True, True, [4, 4])
    """
    shuffled = torch.randperm(len(labels), generator=generator)
    sizes = torch.bincount(labels[labels >= 0], minlength=1)
    never = (labels >= 0) & (sizes[labels] < least)
    if groups is None or len(groups.unique()) == len(groups):
        grouped = shuffled[labels[shuffled].argsort(stable=True)]
        fold = torch.empty_like(labels)
        fold[grouped] = torch.arange(len(labels)) % folds
    else:
        _, number = groups.unique(return_inverse=True)
        pairs = torch.stack([labels, number])[:, labels >= 0].unique(dim=1)
        never |= (labels >= 0) & (torch.bincount(pairs[0], minlength=len(sizes))[labels] < 2)
        never = torch.isin(number, number[never])
        found = _grouped_folds(labels.numpy(), number.numpy(), folds, sizes.numpy(), shuffled.numpy())
        fold = torch.from_numpy(found)
    fold[(labels < 0) | never] = -1
    return fold


def _grouped_folds(
    labels: np.ndarray, number: np.ndarray, folds: int, sizes: np.ndarray, shuffled: np.ndarray
) -> np.ndarray:
    """The fold of each sample: large groups first, each where its classes are fewest, then single samples."""
    fold, counts = np.zeros(len(labels), dtype=np.int64), np.zeros((folds, len(sizes)))
    in_group, members = np.bincount(number), shuffled[np.argsort(number[shuffled], kind="stable")]
    starts = np.cumsum(in_group) - in_group
    drawn = number[shuffled[np.sort(np.unique(number[shuffled], return_index=True)[1])]]
    for group in sorted(drawn[in_group[drawn] > 1].tolist(), key=lambda group: -in_group[group]):
        index = members[starts[group] : starts[group] + in_group[group]]
        classes, own = np.unique(labels[index][labels[index] >= 0], return_counts=True)
        if len(classes):
            load = (counts[:, classes] / sizes[classes]) @ (own / sizes[classes])
            fold[index] = best = int((load + 1e-9 * counts.sum(1)).argmin())
            counts[best, classes] += own
    alone = shuffled[in_group[number[shuffled]] == 1]
    for label in np.unique(labels[alone][labels[alone] >= 0]):
        index, emptiest = alone[labels[alone] == label], np.argsort(counts.sum(1), kind="stable")
        places = np.argsort((counts[emptiest, label, None] + np.arange(len(index))).reshape(-1), kind="stable")
        fold[index] = emptiest[places[: len(index)] // len(index)]
        counts[:, label] += np.bincount(fold[index], minlength=folds)
    return fold


def held_out_in_turn(
    labels: Tensor, folds: int, judging: tuple[int, int], generator: Generator, groups: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The fold of each sample, and which samples of fold 0 are held out of the second look too; shape (N,)."""
    fold = stratified_folds(labels, folds, folds, generator, groups)
    first, (some, of) = (fold == 0).nonzero().flatten(), judging
    to_the_end = torch.zeros(len(labels), dtype=torch.bool)
    among = None if groups is None else groups[first]
    chosen = stratified_folds(labels[first], of, 1, generator, among)
    to_the_end[first[(chosen >= 0) & (chosen < some)]] = True
    return fold, to_the_end


def part(dataset: Dataset, size: int | None, what: str = "size") -> Dataset:
    """A stratified part, or the dataset itself if no size is given."""
    if size is None or size == len(dataset):
        return dataset
    return dataset.subset(stratified(dataset.labels, size, 0, what))


def beyond(dataset: Dataset, size: int | None, more: int) -> Dataset:
    """A stratified part of ``more`` samples that shares none with the part of ``size``."""
    left = len(dataset) - (len(dataset) if size is None else size)
    if not 0 < more <= left:
        raise DataError(f"held_out: {more}; train_size leaves {left} of {len(dataset)} samples; lower one of the two")
    assert size is not None
    larger, smaller = (stratified(dataset.labels, count, 0) for count in (size + more, size))
    return dataset.subset(larger[~torch.isin(larger, smaller)])


def at_origin(dataset: Dataset, origin: Tensor | None) -> Dataset:
    """The samples of a dataset that come from these rows of its source, which may be fewer; None means all."""
    if origin is None or len(dataset) == len(origin):
        return dataset
    return dataset.subset(torch.isin(dataset.source_rows, origin))


def few_labels(dataset: Dataset, count: int, seed: int) -> Dataset:
    """The same samples, of which ``count`` keep their label, the same number in each class; the others get -1.

    If ``count`` is not a multiple of the number of classes, some classes keep one more. With the same seed, a smaller
    set of labels is part of every larger one. The old labels become the true ones, unless these were known before.
    """
    classes = dataset.num_classes
    if count < classes:
        raise DataError(f"labeled: {count} for {classes} classes; keep at least one label of each class, {classes}")
    generator = np.random.default_rng(seed)
    each = np.full(classes, count // classes)
    each[generator.permutation(classes)[: count % classes]] += 1
    shuffled = torch.from_numpy(generator.permutation(len(dataset)))
    labels = torch.full_like(dataset.labels, -1)
    for number, wanted in enumerate(each.tolist()):
        members = shuffled[dataset.labels[shuffled] == number]
        if len(members) < wanted:
            name = dataset.class_names[number]
            raise DataError(
                f"labeled: {count} labels take {wanted} of class {name!r}, which has {plural(len(members), 'sample')}; "
                "keep fewer"
            )
        labels[members[:wanted]] = number
    return dataset.with_labels(labels)


def with_label(dataset: Dataset) -> Dataset:
    """The samples that have a label."""
    return dataset if bool(dataset.labeled.all()) else dataset.subset(dataset.labeled)


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
    if found is None or not found.any():  # all are equal: nothing could be parted
        return None
    if not isinstance(inputs, Tensor) or dataset.is_images:
        return found
    encoding = dataset.reading.encoding
    widths = [1] * dataset.shape[0] if encoding is None else [len(each.feature_names) for each in encoding.columns]
    first = first_of(found)
    blocks = inputs[first].flatten(1).split(widths, dim=1)
    columns = (block.unique(dim=0, return_inverse=True)[1].numpy() for block in blocks)
    return None if by_chance(columns, len(first)) else found


def equal_inputs(dataset: Dataset) -> Tensor | None:
    """The samples with equal inputs, copies or not, as groups, shape (N,); None if there are none, or not in memory."""
    inputs = dataset.inputs
    if not isinstance(inputs, Tensor | SparseRows) or len(inputs) < 2:
        return None
    first = next(_rows(inputs))
    alike = all(row == first for row in _rows(inputs))
    return torch.zeros(len(inputs), dtype=torch.int64) if alike else equal(_rows(inputs))


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

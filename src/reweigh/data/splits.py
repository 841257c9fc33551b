"""Draw parts of a dataset: the same share of each class, and samples that belong together on one side."""

import numpy as np
import torch
from torch import Generator, Tensor

from reweigh.data.dataset import Dataset
from reweigh.errors import DataError
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

    Args:
        least: Number of samples that a class must have; smaller classes are never held out.
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
    """The fold of each sample, and which samples of fold 0 are held out of the second look too; shape (N,).

    Args:
        judging: (m, n): m of n samples of fold 0 are held out of the second look too.
    """
    fold = stratified_folds(labels, folds, folds, generator, groups)
    first, (some, of) = (fold == 0).nonzero().flatten(), judging
    to_the_end = torch.zeros(len(labels), dtype=torch.bool)
    among = None if groups is None else groups[first]
    chosen = stratified_folds(labels[first], of, 1, generator, among)
    to_the_end[first[(chosen >= 0) & (chosen < some)]] = True
    return fold, to_the_end


def part(dataset: Dataset, size: int | None, seed: int, what: str = "size") -> Dataset:
    """A stratified part, or the dataset itself if no size is given."""
    if size is None or size == len(dataset):
        return dataset
    return dataset.subset(stratified(dataset.labels, size, seed, what))


def beyond(dataset: Dataset, size: int | None, more: int, seed: int) -> Dataset:
    """A stratified part of ``more`` samples that shares none with the part of ``size``."""
    left = len(dataset) - (len(dataset) if size is None else size)
    if not 0 < more <= left:
        raise DataError(f"held_out: {more}; train_size leaves {left} of {len(dataset)} samples; lower one of the two")
    assert size is not None
    larger, smaller = (stratified(dataset.labels, count, seed) for count in (size + more, size))
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

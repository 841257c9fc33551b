"""Samples that are nearly the same, or like no other, in words for somebody who looks at data before training."""

from collections.abc import Sequence

from torch import Tensor

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.features import build
from reweigh.features.neighbors import PHOTOS, near_duplicates, neighborhood
from reweigh.fit.front import Front
from reweigh.names import listed, plural
from reweigh.plan.choose import PRETRAINED
from reweigh.training import progress

MAX_PAIRS_NAMED = 5  # near-duplicates that are named
NEIGHBORS_HINT = "Near-duplicates, conflicts among them and outliers: add --neighbors. Its features serve training too."
MAX_VALUES_COMPARED = 20_000_000
MAX_ROWS_COMPARED = 10_000
MAX_EXAMPLES = 3


def neighbors_of(dataset: Dataset) -> list[str]:
    """Near-duplicates and outliers among photos, in words."""
    network = build(PRETRAINED, dataset.shape)
    assert network is not None
    observer = progress()
    try:
        known = Front(network).through(dataset, observer=observer)
    finally:
        observer.stop()
    found = neighborhood(known.inputs, PHOTOS)
    if found is None:
        raise DataError(f"--neighbors: {plural(len(known), 'sample')} are too few or too many to compare all pairs")
    names = names_of(known)
    pairs = {(min(a, b), max(a, b)) for a, b in enumerate(found.near_duplicate_of.tolist()) if b >= 0}
    labels = known.labels.tolist()
    differ = sorted(pair for pair in pairs if labels[pair[0]] != labels[pair[1]])
    alone = found.outlier.nonzero().flatten().tolist()
    lines = [
        f"Near-duplicates: {plural(len(pairs), 'pair')}, {len(differ):,} of them with different labels. "
        f"Outliers: {plural(len(alone), 'sample')}."
    ]
    for a, b in differ[:MAX_PAIRS_NAMED]:
        its = [f"{names[place]} is {known.class_names[labels[place]]!r}" for place in (a, b)]
        lines.append(f"  nearly the same: {its[0]}, {its[1]}")
    same = [f"{names[a]} and {names[b]}" for a, b in sorted(pairs - {*differ})]
    lines += [f"  the same label: {listed(same)}"] if same else []
    lines += [f"  far from all others: {listed([names[place] for place in alone])}"] if alone else []
    return lines


def names_of(dataset: Dataset) -> Sequence[str]:
    """What each sample is called: its file, or its row."""
    rows = dataset.source_rows.tolist()
    return [dataset.reading.names[row] if dataset.reading.names else f"row {row}" for row in rows]


def near_rows(dataset: Dataset) -> list[str]:
    """Rows that are nearly the same but have different labels, in words; not for images."""
    if len(dataset.shape) != 1:
        return []
    index, rows = _compared(dataset)
    pairs = index[near_duplicates(rows)]
    differ = pairs[dataset.labels[pairs[:, 0]] != dataset.labels[pairs[:, 1]]].tolist()
    if not differ:
        return []
    names = names_of(dataset)
    some = [" and ".join(f"{names[row]} is {_label(dataset, row)}" for row in pair) for pair in differ]
    return [
        f"{plural(len(differ), 'pair of rows is', 'pairs of rows are')} nearly the same, with different labels "
        f"({'; '.join(some[:MAX_EXAMPLES])}{'; ...' if len(some) > MAX_EXAMPLES else ''}): likely one of each is wrong."
    ]


def _compared(dataset: Dataset) -> tuple[Tensor, Tensor]:
    """Indices of labeled samples, spread over the dataset and as many as can be compared, and their features."""
    labeled = dataset.labeled.nonzero().flatten()
    most = max(1, min(MAX_ROWS_COMPARED, MAX_VALUES_COMPARED // max(1, dataset.shape[0])))
    index = labeled[:: max(1, -(-len(labeled) // most))]
    return index, dataset.normalize(dataset.inputs[index].float())


def _label(dataset: Dataset, index: int) -> str:
    return repr(dataset.class_names[int(dataset.labels[index])])

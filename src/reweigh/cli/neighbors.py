"""What ``reweigh inspect --neighbors`` prints: near-duplicates, conflicts among them, and outliers among photos."""

from typing import TYPE_CHECKING

from reweigh.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reweigh.data import Dataset

EXAMPLES = 5
HINT = "Near-duplicates, conflicts among them and outliers: add --neighbors. Its features serve training too."


def neighbors_of(dataset: "Dataset") -> list[str]:
    """What the nearest neighbors of each photo say, in words.

    Args:
        dataset: Photos, read on demand as training does, so that training finds their features in the cache.

    Raises:
        DataError: The samples are not photos, or too few or too many.
        ModelError: The weights of the network are not available.
    """
    from reweigh.cli.look_alikes import double_classes
    from reweigh.data.checks import listed, plural
    from reweigh.features import build
    from reweigh.features.neighbors import neighborhood
    from reweigh.fit.front import Front
    from reweigh.plan.choose import PRETRAINED
    from reweigh.training import progress

    network = build(PRETRAINED, dataset.shape)
    assert network is not None
    observer = progress()
    try:
        known = Front(network).through(dataset, observer=observer)
    finally:
        observer.stop()
    found = neighborhood(known.inputs[:])  # pyright: ignore[reportArgumentType] (features are a tensor)
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
    for a, b in differ[:EXAMPLES]:
        its = [f"{names[place]} is {known.class_names[labels[place]]!r}" for place in (a, b)]
        lines.append(f"  nearly the same: {its[0]}, {its[1]}")
    same = [f"{names[a]} and {names[b]}" for a, b in sorted(pairs - {*differ})]
    lines += [f"  the same label: {listed(same)}"] if same else []
    lines += [f"  far from all others: {listed([names[place] for place in alone])}"] if alone else []
    return lines + double_classes(known)


def names_of(dataset: "Dataset") -> "Sequence[str]":
    """What each sample is called: its file, or its row."""
    rows = dataset.source_rows.tolist()
    return [dataset.reading.names[row] if dataset.reading.names else f"row {row}" for row in rows]

"""The frozen network of a plan in front of its model: raw samples to features, in training and later on."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from reweigh import features
from reweigh.data import Dataset, Inputs
from reweigh.data.inputs import Rows, Standardize, rows_of, standardize_like
from reweigh.data.on_demand import DEFAULT_MEMORY_GB
from reweigh.data.tables.encoding import Encoding
from reweigh.errors import DataError, ModelError
from reweigh.features import build
from reweigh.features.extract import StoredRows, encoded, extract, filled, joined, scale_of
from reweigh.features.foreign import TextNetwork, own_network
from reweigh.features.neighbors import MAX_SAMPLES, PHOTOS, TEXT, Neighborhood, near_duplicates, neighborhood
from reweigh.features.network import Network
from reweigh.fit.scored import Scored
from reweigh.issues import Samples
from reweigh.names import listed, plural
from reweigh.plan import Part
from reweigh.plan.choose import PRETRAINED
from reweigh.training import Observer, processes, progress

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Front:
    """A frozen network in front of a model.

    Attributes:
        memory_gb: Gigabytes that features of images may take in memory; more stay on disk, if they are stored there.
    """

    network: Network | TextNetwork
    cache: bool = True
    memory_gb: float = DEFAULT_MEMORY_GB

    def through(
        self,
        dataset: Dataset,
        normalize: Callable[[Tensor], Tensor] | None = None,
        device: torch.device | str = "cpu",
        observer: Observer | None = None,
    ) -> Dataset:
        """The samples as features; those that cannot be read are left out, and the log says which.

        Args:
            normalize: Normalization of the features; by default to mean 0 and standard deviation 1 in these samples.
                Columns of a table that are not text stay as they are.
        """
        rows, unreadable = self._features(dataset, device, observer)
        if unreadable:
            dataset, rows = left_out(dataset, unreadable), rows_of(rows, kept(len(rows), unreadable))
        if isinstance(self.network, TextNetwork):
            assert isinstance(rows, Tensor)
            normalize = normalize or scale_of(rows, dataset.shape[0])
            assert isinstance(normalize, Standardize)
            rows = filled(rows, normalize.mean)
        return replace(dataset, inputs=rows, normalize=normalize or standardize_like(rows))

    def neighborhood(self, features: Inputs, of_test: Inputs | None = None) -> Neighborhood | None:
        """Near-duplicates and outliers by the features of samples; None if there are too few samples, or too many.

        Args:
            features: Those of the training samples.
            of_test: Those of test samples, which are numbered on.
        """
        if of_test is not None and len(features) + len(of_test) <= MAX_SAMPLES:
            features = torch.cat([some[torch.arange(len(some))] for some in (features, of_test)])
        return neighborhood(features, TEXT if isinstance(self.network, TextNetwork) else PHOTOS)

    def _features(
        self, dataset: Dataset, device: torch.device | str, observer: Observer | None
    ) -> tuple[Tensor | StoredRows, dict[int, str]]:
        """The features of all samples, and why some cannot be read; each process computes its share."""
        network = self.network

        def count(done: int, total: int) -> None:
            if observer is not None:
                observer.count("samples to features", done, total)

        def share(index: Tensor) -> tuple[Tensor | StoredRows, dict[int, str]]:
            inputs = dataset.inputs if len(index) == len(dataset) else Rows(dataset.inputs, index)
            if isinstance(network, TextNetwork):
                return encoded(inputs, network, device, self.cache, count), {}
            memory_gb = self.memory_gb * len(index) / max(1, len(dataset))
            found = extract(inputs, network, device, self.cache, count, memory_gb)
            return found.rows, {int(index[place]): why for place, why in found.unreadable.items()}

        parts = processes.shared(len(dataset), share)
        return joined([rows for rows, _ in parts]), {place: why for _, broken in parts for place, why in broken.items()}


def open_front(
    part: Part | None, shape: tuple[int, ...], encoding: Encoding | None = None, trust_code: bool = False
) -> Front | None:
    """The network that a plan names; None if it names none."""
    if part is None:
        return None
    if encoding is not None and encoding.texts:
        shape = ()
    network = features.build(part.name, shape, trust_code=trust_code, **part.options)
    if network is None:
        return None
    return Front(network, part.added["cache"], part.added["memory_gb"])


def own_front(module: Any, shape: tuple[int, ...]) -> Front:
    """A module of the caller's own as the frozen network. It gets samples as they are, bytes divided by 255."""
    if not isinstance(module, nn.Module):
        raise ModelError(
            f"features: got {module!r}; pass a name ({', '.join(features.FEATURES)}, timm:NAME, ...), or a "
            "torch.nn.Module that returns one row of features per sample"
        )
    return Front(own_network(type(module).__name__, module, shape))


def left_out(dataset: Dataset, unreadable: dict[int, str]) -> Dataset:
    reasons = listed(unreadable.values())
    if len(unreadable) == len(dataset):
        raise DataError(f"features: none of {plural(len(dataset), 'sample')} can be read: {reasons}")
    logger.warning("features: %d of %d samples left out: %s", len(unreadable), len(dataset), reasons)
    return dataset.subset(kept(len(dataset), unreadable))


def kept(samples: int, unreadable: dict[int, str]) -> Tensor:
    """The indices of the samples that can be read."""
    fine = torch.ones(samples, dtype=torch.bool)
    fine[list(unreadable)] = False
    return fine.nonzero().flatten()


def beside_neighbors(
    samples: Samples, unseen: Samples | None, tested: Scored | None, found: Neighborhood | None
) -> tuple[Samples, Samples | None]:
    """What is known of the training samples, and of the test samples, with what their nearest neighbors say.

    Args:
        unseen: What is known of the test samples; None if nothing is.
        tested: Predictions for these; None without any.
        found: Training samples come first.
    """
    if found is None:
        return samples, unseen
    other, train = found.near_duplicate_of, len(samples.given)
    known = [samples.given] if tested is None or tested.labels is None else [samples.given, tested.labels]
    given = torch.cat([*known, torch.full_like(other, -1)])[: len(other)]
    if tested is not None and tested.labels is not None and len(other) > train:
        copied = (other[train:] >= 0) & (other[train:] < train)
        right = (tested.logits.argmax(1) == tested.labels).double()
        if bool(copied.any()) and len(right) == len(copied):
            rest = f"; accuracy on the others: {100 * float(right[~copied].mean()):.2f}" if not copied.all() else ""
            logger.warning(
                "test: of %s, %d %s nearly the same as a training sample, so the test is too easy%s",
                plural(len(copied), "sample"),
                int(copied.sum()),
                "is" if int(copied.sum()) == 1 else "are",
                rest,
            )
    differ = (other >= 0) & (given >= 0) & (given[other] >= 0) & (given != given[other])
    copies, alone = int((other >= 0).sum()), int(found.outlier.sum())
    logger.info(
        "neighbors: %s a near-duplicate, %d of them with another label; outliers: %d",
        plural(copies, "sample has", "samples have"),
        int(differ.sum()),
        alone,
    )
    parts = [
        some and replace(some, outlier=found.outlier[part], near_duplicate_of=other[part])
        for some, part in ((samples, slice(train)), (unseen, slice(train, None)))
    ]
    assert parts[0] is not None
    return parts[0], parts[1] if len(other) > train else unseen


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

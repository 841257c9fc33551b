"""Look at every sample of a dataset once, before anyone trains on it."""

from collections import defaultdict
from collections.abc import Iterator
from hashlib import blake2b

import torch
from torch import Tensor

from reweigh.data.dataset import Dataset
from reweigh.data.findings import Findings

AT_ONCE = 1000


def inspect(dataset: Dataset) -> Findings:
    """Class sizes, copies, contradictions, blank and broken inputs.

    Inputs outside memory are read a thousand at a time.
    """
    identical: dict[bytes, list[int]] = defaultdict(list)
    constant: list[int] = []
    not_finite: list[int] = []
    spans: list[tuple[Tensor, Tensor]] = []
    for places, inputs in batches(dataset):
        for place, sample in zip(places.tolist(), inputs.numpy(), strict=True):
            identical[blake2b(sample.tobytes(), digest_size=16).digest()].append(place)
        constant += places[inputs.amin(1) == inputs.amax(1)].tolist()
        not_finite += places[~inputs.isfinite().all(1)].tolist()
        spans.append((inputs.amin(0), inputs.amax(0)))

    origin = list(range(len(dataset))) if dataset.origin is None else dataset.origin.tolist()
    labels = dataset.labels.tolist()
    copies = [places for places in identical.values() if len(places) > 1]
    features = len(dataset.shape) == 1
    return Findings(
        num_samples=len(dataset),
        shape=dataset.shape,
        class_names=dataset.class_names,
        class_sizes=tuple(dataset.class_sizes.tolist()),
        duplicates=tuple(tuple(origin[place] for place in places) for places in copies),
        conflicting=tuple(
            tuple((origin[place], labels[place]) for place in places)
            for places in copies
            if len({labels[place] for place in places}) > 1
        ),
        constant=() if dataset.shape == (1,) else tuple(origin[place] for place in constant),
        constant_features=unchanging(spans) if features else (),
        not_finite=tuple(origin[place] for place in not_finite),
        unreadable=dataset.reading.skipped,
        missing=dict(dataset.reading.missing),
        names=dataset.reading.names,
    )


def batches(dataset: Dataset) -> Iterator[tuple[Tensor, Tensor]]:
    """Places and flattened raw inputs, in order."""
    for places in torch.arange(len(dataset)).split(AT_ONCE):
        yield places, dataset.inputs[places].flatten(1).contiguous()


def unchanging(spans: list[tuple[Tensor, Tensor]]) -> tuple[int, ...]:
    """Features whose lowest value is their highest."""
    lowest = torch.stack([low for low, _ in spans]).amin(0)
    highest = torch.stack([high for _, high in spans]).amax(0)
    return tuple((lowest == highest).nonzero().flatten().tolist())

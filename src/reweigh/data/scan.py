"""Look at every sample of a dataset once, before training."""

from collections import defaultdict
from hashlib import blake2b

import torch
from torch import Tensor

from reweigh.data.dataset import Dataset
from reweigh.data.findings import Findings

AT_ONCE = 1000


def inspect(dataset: Dataset) -> Findings:
    """Class sizes, duplicates, contradictory labels, blank and broken inputs.

    Inputs that are not in memory are read a thousand at a time.
    """
    identical: dict[bytes, list[int]] = defaultdict(list)
    constant: list[int] = []
    not_finite: list[int] = []
    spans: list[tuple[Tensor, Tensor]] = []
    for rows in torch.arange(len(dataset)).split(AT_ONCE):
        inputs = dataset.inputs[rows].flatten(1).contiguous()
        for row, sample in zip(rows.tolist(), inputs.numpy(), strict=True):
            identical[blake2b(sample.tobytes(), digest_size=16).digest()].append(row)
        constant += rows[inputs.amin(1) == inputs.amax(1)].tolist()
        not_finite += rows[~inputs.isfinite().all(1)].tolist()
        spans.append((inputs.amin(0), inputs.amax(0)))

    origin = list(range(len(dataset))) if dataset.origin is None else dataset.origin.tolist()
    labels = dataset.labels.tolist()
    copies = [rows for rows in identical.values() if len(rows) > 1]
    called = [] if dataset.reading.encoding is None else dataset.reading.encoding.feature_names
    same = unchanging(spans) if len(dataset.shape) == 1 else ()
    return Findings(
        num_samples=len(dataset),
        shape=dataset.shape,
        class_names=dataset.class_names,
        class_sizes=tuple(dataset.class_sizes.tolist()),
        duplicates=tuple(tuple(origin[row] for row in rows) for rows in copies),
        conflicting=tuple(
            tuple((origin[row], labels[row]) for row in rows)
            for rows in copies
            if len({labels[row] for row in rows}) > 1
        ),
        constant=() if dataset.shape == (1,) else tuple(origin[row] for row in constant),
        constant_features=tuple(called[number] for number in same) if called else same,
        not_finite=tuple(origin[row] for row in not_finite),
        unreadable=dataset.reading.skipped,
        missing=dict(dataset.reading.missing),
        names=dataset.reading.names,
    )


def unchanging(spans: list[tuple[Tensor, Tensor]]) -> tuple[int, ...]:
    """Features whose lowest value is their highest."""
    lowest = torch.stack([low for low, _ in spans]).amin(0)
    highest = torch.stack([high for _, high in spans]).amax(0)
    return tuple((lowest == highest).nonzero().flatten().tolist())

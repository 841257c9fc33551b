"""Asymmetric noise: labels are replaced by those of similar classes, by a map from class to class."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
from annotated_types import Ge, Le
from pydantic import AfterValidator
from torch import Tensor

from reweigh.bias.biased import Biased, check_labels, chosen, compare
from reweigh.bias.maps import GivenMap, known, named, resolved, usual


def asymmetric(
    labels: Tensor,
    num_classes: int,
    seed: int,
    class_names: Sequence[str] | None = None,
    *,
    rate: Annotated[float, Ge(0), Le(1)],
    map: Annotated[str, AfterValidator(known)] | GivenMap | None = None,
) -> Biased:
    """Change a share ``rate`` of the labels of each class in the map; other classes keep their labels.

    So fewer labels are actually wrong: on CIFAR-10, with four of ten classes in the map, 0.4 * rate.

    Examples:
        >>> biased = asymmetric(torch.arange(900) % 3, num_classes=3, seed=0, rate=0.4, map={0: 1})
        >>> biased.transition.round(decimals=1)
        tensor([[0.6000, 0.4000, 0.0000],
                [0.0000, 1.0000, 0.0000],
                [0.0000, 0.0000, 1.0000]], dtype=torch.float64)

    Args:
        labels: Shape (N,).
        class_names: Class names, required for a map of names.
        rate: Average share of wrong labels in each class of the map.
        map: A name from ``MAPS`` ("cifar10", "cifar100-next", ...), or {from: to} by class name or number; with
            several targets, {from: [to, to]}, one is drawn. By default, the usual map of well-known data.

    Raises:
        DataError: The map names an unknown class, or the rate is not in [0, 1].
    """
    check_labels(labels, num_classes)
    if map is None:
        targets = usual(num_classes, class_names)
    else:
        targets = named(map, num_classes) if isinstance(map, str) else resolved(map, num_classes, class_names)
    generator = np.random.default_rng(seed)
    where = torch.from_numpy(chosen(len(labels), rate, generator))
    draws = torch.from_numpy(generator.random(len(where)))
    after = labels.clone()
    for source, choices in targets.items():
        here = labels[where] == source
        after[where[here]] = torch.tensor(choices)[(draws[here] * len(choices)).long()]
    return compare(labels, after, num_classes)

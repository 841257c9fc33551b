"""Noise that hits all samples alike: symmetric label noise, in the two usual definitions, and open-set noise."""

from typing import Annotated

import numpy as np
import torch
from annotated_types import Ge, Le
from torch import Tensor

from reweigh.bias.biased import Biased, check_labels, chosen, compare


def symmetric(labels: Tensor, num_classes: int, seed: int, *, rate: Annotated[float, Ge(0), Le(1)]) -> Biased:
    """Redraw a share ``rate`` of the labels from ALL classes, including the true one.

    So fewer labels are actually wrong: rate * (1 - 1/C). Used by the paper, DivideMix and ELR.

    Examples:
        >>> labels = torch.arange(1000) % 4
        >>> biased = symmetric(labels, num_classes=4, seed=0, rate=0.4)
        >>> biased  # a quarter of the redrawn labels are right
        Biased(1000 labels, 28.0% wrong)
        >>> biased.transition[0].round(decimals=2)
        tensor([0.7100, 0.0700, 0.1100, 0.1000], dtype=torch.float64)

    Args:
        labels: Shape (N,).
        rate: Share of labels that are redrawn. Paper: 0.2 to 0.8.
    """
    check_labels(labels, num_classes)
    generator = np.random.default_rng(seed)
    where = chosen(len(labels), rate, generator)
    after = labels.clone()
    after[torch.from_numpy(where)] = torch.from_numpy(generator.integers(num_classes, size=len(where)))
    return compare(labels, after, num_classes)


def symmetric_others(labels: Tensor, num_classes: int, seed: int, *, rate: Annotated[float, Ge(0), Le(1)]) -> Biased:
    """Redraw a share ``rate`` of the labels from the OTHER classes, so ``rate`` is the share of wrong labels.

    Used by PLC, on top of feature-dependent noise, and by most work on noise estimation.

    Examples:
        >>> symmetric_others(torch.arange(1000) % 4, num_classes=4, seed=0, rate=0.4)
        Biased(1000 labels, 40.0% wrong)

    Args:
        labels: Shape (N,).
        rate: Share of wrong labels.
    """
    check_labels(labels, num_classes)
    generator = np.random.default_rng(seed)
    where = torch.from_numpy(chosen(len(labels), rate, generator))
    shift = torch.from_numpy(generator.integers(1, max(num_classes, 2), size=len(where)))
    after = labels.clone()
    after[where] = (labels[where] + shift) % num_classes
    return compare(labels, after, num_classes)


def open_set(labels: Tensor, num_classes: int, seed: int, *, rate: Annotated[float, Ge(0), Le(1)]) -> Biased:
    """Choose exactly a share ``rate`` of the samples; their inputs are replaced by foreign ones.

    Labels do not change; ``Biased.replaced`` marks the inputs, and ``data.replace_inputs`` replaces them.

    Examples:
        >>> int(open_set(torch.arange(1000) % 4, num_classes=4, seed=0, rate=0.4).replaced.sum())
        400

    Args:
        labels: Shape (N,).
        rate: Share of foreign inputs. Paper: 0.4, CIFAR-10 images replaced by CIFAR-100 ones.
    """
    check_labels(labels, num_classes)
    replaced = torch.zeros(len(labels), dtype=torch.bool)
    replaced[torch.from_numpy(chosen(len(labels), rate, np.random.default_rng(seed)))] = True
    return compare(labels, labels.clone(), num_classes, replaced=replaced)

"""Open-set noise: inputs that belong to no class, with labels that look right."""

from typing import Annotated

import numpy as np
import torch
from annotated_types import Ge, Le
from torch import Tensor

from reweigh.bias.biased import Biased, check_labels, chosen, compare


def open_set(labels: Tensor, num_classes: int, seed: int, *, rate: Annotated[float, Ge(0), Le(1)]) -> Biased:
    """Exactly a share ``rate`` of the samples is chosen; their inputs are to be replaced by foreign ones.

    Labels do not change; ``Biased.replaced`` marks the inputs, and ``data.replace_inputs`` replaces them.

    Args:
        labels: shape (N,).
        rate: share of foreign inputs. Paper: 0.4, CIFAR-10 images replaced by CIFAR-100 ones.
    """
    check_labels(labels, num_classes)
    replaced = torch.zeros(len(labels), dtype=torch.bool)
    replaced[torch.from_numpy(chosen(len(labels), rate, np.random.default_rng(seed)))] = True
    return compare(labels, labels.clone(), num_classes, replaced=replaced)

"""Mixup: convex combinations of pairs of samples."""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


class Mix(NamedTuple):
    """Who is mixed with whom, and how much.

    Attributes:
        partner: shape (n,), a permutation of the batch. Paper: idx.
        share: of the sample itself, at least a half. Paper: lambda = max(lambda, 1 - lambda).
    """

    partner: Tensor
    share: float

    def inputs(self, inputs: Tensor) -> Tensor:
        """The mixed inputs, shape as given."""
        return self.share * inputs + (1 - self.share) * inputs[self.partner]

    def labels(self, labels: Tensor, num_classes: int) -> Tensor:
        """The mixed labels as rows that sum to one, shape (n, num_classes)."""
        rows = F.one_hot(labels, num_classes).float() if labels.dim() == 1 else labels
        return self.share * rows + (1 - self.share) * rows[self.partner]


def draw(n: int, strength: float, generator: torch.Generator, device: torch.device | str = "cpu") -> Mix:
    """A random mix with lambda ~ Beta(strength, strength).

    Args:
        strength: 1 draws evenly; towards 0 samples hardly mix, and towards infinity all mix half and half.
    """
    seed = int(torch.randint(2**62, (), generator=generator))  # torch's Beta takes no generator, NumPy's does
    share = float(np.random.default_rng(seed).beta(strength, strength))
    return Mix(torch.randperm(n, generator=generator).to(device), max(share, 1 - share))

"""Mixup: convex combinations of pairs of samples."""

from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from reweigh.errors import DataError

Share = TypeVar("Share", bound=float | Tensor)


class Mix(NamedTuple, Generic[Share]):
    """Which samples are mixed, and how much.

    Attributes:
        partner: Shape (n,), a permutation of the batch. Paper: idx.
        share: Share of the sample itself, at least one half: one number for all samples, or shape (n,). Paper: lambda =
            max(lambda, 1 - lambda).
    """

    partner: Tensor
    share: Share

    def inputs(self, inputs: Tensor) -> Tensor:
        """The mixed inputs, shape as given."""
        share: float | Tensor = self.share
        if isinstance(share, Tensor):
            share = share.to(inputs).view(-1, *[1] * (inputs.dim() - 1))
        return share * inputs + (1 - share) * inputs[self.partner]

    def labels(self, labels: Tensor, num_classes: int) -> Tensor:
        """The mixed labels as rows that sum to one, shape (n, num_classes)."""
        if labels.dim() == 1:  # (``one_hot`` reads the labels to check them, and so waits for the device)
            rows = torch.zeros(len(labels), num_classes, device=labels.device)
            labels = rows.scatter_(1, labels[:, None], 1.0)
        return self.inputs(labels)


def draw(n: int, strength: float, generator: torch.Generator, device: torch.device | str = "cpu") -> Mix[float]:
    """A random mix with one lambda ~ Beta(strength, strength) for all samples.

    Args:
        strength: Strength of mixing: close to 0, samples are hardly mixed; 1 draws lambda uniformly; very large values
            mix half and half.
    """
    share = float(_shares(strength, generator, 1)[0])
    return Mix(torch.randperm(n, generator=generator).to(device), share)


def draw_each(n: int, strength: float, generator: torch.Generator, device: torch.device | str = "cpu") -> Mix[Tensor]:
    """A random mix with a separate lambda for each sample."""
    share = torch.from_numpy(_shares(strength, generator, n)).to(device)
    return Mix(torch.randperm(n, generator=generator).to(device), share)


def _shares(strength: float, generator: torch.Generator, n: int) -> np.ndarray:
    seed = int(torch.randint(2**62, (), generator=generator).numpy())  # torch's Beta takes no generator, NumPy's does
    drawn = np.random.default_rng(seed).beta(strength, strength, n)
    return np.maximum(drawn, 1 - drawn)


def check_mixable(inputs: Tensor, strength: float) -> None:
    """Raise a DataError if inputs are to be mixed that are not floats."""
    if strength and not inputs.is_floating_point():
        raise DataError(f"mixup cannot mix inputs of {inputs.dtype}; set method.mixup = 0")


def checked_draw(inputs: Tensor, strength: float, generator: torch.Generator) -> Mix[float]:
    """A random mix of a batch of floats, as ``draw`` makes it; a strength of 0 leaves every sample as it is."""
    check_mixable(inputs, strength)
    if not strength:
        return Mix(torch.arange(len(inputs), device=inputs.device), 1.0)
    return draw(len(inputs), strength, generator, inputs.device)

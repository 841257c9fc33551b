"""A small batch of images and generators in a known state."""

import pytest
import torch
from torch import Tensor


@pytest.fixture
def images() -> Tensor:
    """Seven images of three channels, not square, values in [0, 1]."""
    return torch.rand(7, 3, 12, 10, generator=torch.Generator().manual_seed(5))


@pytest.fixture
def seeded():
    """A fresh generator in the same state at every call."""
    return lambda: torch.Generator().manual_seed(11)

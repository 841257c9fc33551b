"""Views of samples that were computed before training; each time a sample is needed, one of its views is drawn."""

from collections.abc import Sequence

import torch
from torch import Generator, Tensor


def drawn(views: Sequence[Tensor], generator: Generator) -> Tensor:
    """One view of each sample, all equally likely, shape (n, ...).

    Args:
        views: Each of shape (n, ...).
    """
    samples = len(views[0])
    which = torch.randint(len(views), (samples,), generator=generator, device=generator.device)
    return torch.stack(list(views))[which.to(views[0].device), torch.arange(samples)]

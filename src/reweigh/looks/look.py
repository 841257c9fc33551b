"""What a look gives: models, and their predictions for samples that they saw and samples that they did not see."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Look(NamedTuple):
    """Trained classifiers, and the logarithms of what they predict, as if all classes were equally frequent.

    Attributes:
        models: The classifiers; each takes a batch of inputs and returns logits.
        best: Shape (N, C), the best guess for each sample by models that have not memorized its label.
        consensus: Shape (N, C), mean of all classifiers.
        unseen: Shape (n, C), predictions for the samples ``held_out`` by classifiers that were trained without them.
        held_out: Shape (n,), indices of these samples.
        memorizes: Whether the best epoch came early, because wrong labels were memorized after it.
        history: The numbers of each epoch so far.
        shares: How much each classifier counts; the same by default.
    """

    models: list[nn.Module]
    best: Tensor
    consensus: Tensor
    unseen: Tensor
    held_out: Tensor
    memorizes: bool
    history: list[dict[str, Any]]
    shares: tuple[float, ...] = ()

    def unseen_at(self, index: Tensor) -> Tensor:
        """The rows of ``unseen`` of these samples, which must be held out."""
        places = torch.full((len(self.best),), -1)
        places[self.held_out] = torch.arange(len(self.held_out))
        return self.unseen[places[index]]

    def counted(self) -> list[tuple[nn.Module, float]]:
        """The classifiers that count, each with its share; shares sum to one."""
        shares = self.shares or (1 / len(self.models),) * len(self.models)
        return [(model, share) for model, share in zip(self.models, shares, strict=True) if share > 0]

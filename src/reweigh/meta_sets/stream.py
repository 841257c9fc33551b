"""Trusted batches, one after another, from the samples that a meta set chose."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.meta_sets.meta_set import MetaSet
from reweigh.pseudo_labels.mixup import draw


class MetaStream:
    """Endless trusted batches; each sample comes once before any comes again.

    Args:
        meta_set: chooses the samples.
        fetch: places in the set that is chosen from -> batch, augmented and on the model's device.
        labels: shape (N,), the labels of that set.
        num_classes: for mixed labels.
        generator: of the choice, the order and the mixing.
    """

    def __init__(
        self,
        meta_set: MetaSet,
        fetch: Callable[[Tensor], Batch],
        labels: Tensor,
        num_classes: int,
        generator: torch.Generator,
    ):
        self.meta_set = meta_set
        self._fetch = fetch
        self._labels = labels
        self._num_classes = num_classes
        self._generator = generator
        self.chosen = torch.empty(0, dtype=torch.int64)
        self._order = torch.empty(0, dtype=torch.int64)

    def refresh(self, losses: Tensor | None) -> None:
        """Choose the trusted samples anew.

        Args:
            losses: shape (N,), of the samples, where someone judges them.
        """
        self.chosen = self.meta_set.choose(self._labels, losses, self._generator)
        self._order = torch.empty(0, dtype=torch.int64)

    def next(self, size: int) -> tuple[Tensor, Tensor]:
        """Inputs and labels of the next trusted batch.

        Args:
            size: of the training batch, which the trusted one follows unless the meta set says otherwise.
        """
        size = min(self.meta_set.batch_size or size, len(self.chosen))
        while len(self._order) < size:
            again = self.chosen[torch.randperm(len(self.chosen), generator=self._generator)]
            self._order = torch.cat([self._order, again])
        now, self._order = self._order[:size], self._order[size:]
        batch = self._fetch(now)
        if not self.meta_set.mixup:
            return batch.inputs, batch.labels
        mix = draw(size, 1.0, self._generator, batch.inputs.device)
        return mix.inputs(batch.inputs), mix.labels(batch.labels, self._num_classes)

    def state_dict(self) -> dict[str, Any]:
        return {"chosen": self.chosen, "order": self._order}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.chosen, self._order = state["chosen"], state["order"]

"""Trusted batches for a method that learns from them."""

from typing import Any

import torch
from torch import Tensor

from reweigh.methods.parts.labeled_batches import EndlessOrder
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import AveragedModel
from reweigh.pseudo_labels.mixup import draw


class Trusted:
    """Batches of the samples that the setup's meta set chooses in each epoch, by the losses it asks for.

    Samples of the training set whose label a person has checked are trusted as well.

    Args:
        average: EMA of the model, if the method has one; by default ``Trusted`` keeps its own if the meta set asks for
            the losses of the EMA.
    """

    def __init__(self, setup: Setup, average: AveragedModel | None = None):
        self._setup = setup
        self._source = setup.clean_set or setup.train_set
        self._order = EndlessOrder(torch.empty(0, dtype=torch.int64), setup.generator)
        needed = average is None and setup.meta_set.judge == "average"
        self._own = AveragedModel(setup.model) if needed else None
        self._average = average or self._own
        self._losses: Tensor | None = None
        self._seen: Tensor | None = None

    @property
    def chosen(self) -> Tensor:
        """Indices of the trusted samples of this epoch, into the training set or the clean set."""
        return self._order.pool

    def refresh(self) -> None:
        """Choose the trusted samples of an epoch."""
        meta_set = self._setup.meta_set
        if meta_set.judge:
            latest = self._judged()
            self._losses = latest if self._losses is None else latest.lerp(self._losses, meta_set.memory)
        chosen = meta_set.choose(self._source.labels, self._losses, self._setup.generator)
        if self._source.trusted is not None:
            chosen = torch.cat([chosen, self._source.trusted.nonzero().flatten()]).unique()
        self._order.restart(chosen)

    def _judged(self) -> Tensor:
        """The losses of the training samples, shape (N,), that the meta set asks for."""
        seen, self._seen = None if self._seen is None else self._seen.cpu(), None
        if seen is not None and self._losses is not None:
            return torch.where(seen.isnan(), self._losses, seen)
        if seen is not None and not seen.isnan().any():
            return seen
        average = self._average if self._setup.meta_set.judge == "average" else None
        return self._setup.losses(average.model if average else self._setup.model)

    def observe(self, index: Tensor, losses: Tensor) -> None:
        """Report the losses, shape (n,), that training saw for samples with their given labels.

        A meta set may choose by these. If none were reported since the last choice, the model is run on all samples.
        """
        if self._setup.meta_set.judge != "training":
            return
        if self._seen is None:
            self._seen = torch.full((len(self._setup.train_set),), float("nan"), device=self._setup.device)
        self._seen[index] = losses.float()

    def next(self, size: int) -> tuple[Tensor, Tensor]:
        """Inputs and labels of the next trusted batch, augmented as training batches are.

        Args:
            size: Size of the training batch; the trusted batch has the same, unless the meta set sets another.
        """
        setup = self._setup
        size = min(setup.meta_set.batch_size or size, len(self.chosen))
        batch = self._source.batch(self._order.next(size), setup.augment, setup.generator, setup.device)
        if not setup.meta_set.mixup:
            return batch.inputs, batch.labels
        mix = draw(size, 1.0, setup.generator, batch.inputs.device)
        return mix.inputs(batch.inputs), mix.labels(batch.labels, setup.train_set.num_classes)

    def follow(self) -> None:
        """Update the average, if it is kept here; call it after every step."""
        if self._own:
            self._own.update(self._setup.model)

    def state_dict(self) -> dict[str, Any]:
        return {
            "order": self._order.state_dict(),
            "average": self._own.state_dict() if self._own else None,
            "losses": self._losses,
            "seen": self._seen,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._order.load_state_dict(state["order"])
        if self._own:
            self._own.load_state_dict(state["average"])
        self._losses, seen = state["losses"], state["seen"]
        self._seen = None if seen is None else seen.to(self._setup.device)

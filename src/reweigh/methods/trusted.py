"""Trusted data for a method that learns from them: who is trusted, judged by whom, and kept out of training or not."""

from typing import Any

import torch
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import AveragedModel


class Trusted:
    """The batches of a setup's meta set, chosen anew each epoch by the judge that the meta set names.

    Args:
        average: of the model along training, for whom has one; by default there is one if it is the judge.
    """

    def __init__(self, setup: Setup, average: AveragedModel | None = None):
        self._setup = setup
        self._stream = setup.trusted()
        if average is None and setup.meta_set.judge == "average":
            average = AveragedModel(setup.model)
        self._average = average
        self._losses: Tensor | None = None
        self._seen: Tensor | None = None

    def refresh(self) -> None:
        """Choose the trusted samples of an epoch."""
        if self._setup.meta_set.judge:
            latest = self._judged()
            self._losses = latest if self._losses is None else latest.lerp(self._losses, self._setup.meta_set.memory)
        self._stream.refresh(self._losses)

    def _judged(self) -> Tensor:
        """The losses of the training samples, shape (N,), as the judge sees them."""
        seen, self._seen = self._seen, None
        if seen is not None and self._losses is not None:
            return torch.where(seen.isnan(), self._losses, seen)
        if seen is not None and not seen.isnan().any():
            return seen
        average = self._average if self._setup.meta_set.judge == "average" else None
        return self._setup.losses(average.model if average else self._setup.model)

    def observe(self, index: Tensor, losses: Tensor) -> None:
        """Training saw these losses, shape (n,), of samples with their given labels; a judge may be content with them.

        Where no losses were observed since the last choice, the judge looks at the samples anew.
        """
        if self._setup.meta_set.judge != "training":
            return
        if self._seen is None:
            self._seen = torch.full((len(self._setup.train_set),), float("nan"))
        self._seen[index.cpu()] = losses.float().cpu()

    def next(self, size: int) -> tuple[Tensor, Tensor]:
        """Inputs and labels of the next trusted batch, for a training batch of that size."""
        return self._stream.next(size)

    def follow(self) -> None:
        """Take the model as it is now into the average; after every step."""
        if self._average:
            self._average.update(self._setup.model)

    def withheld_from(self, batch: Batch) -> Batch:
        """The batch without samples that the meta set withholds from training."""
        if self._setup.meta_set.keep:
            return batch
        stays = ~torch.isin(batch.index, self._stream.chosen.to(batch.index.device))
        return batch.where(stays) if int(stays.sum()) > 1 else batch

    def state_dict(self) -> dict[str, Any]:
        return {
            "stream": self._stream.state_dict(),
            "average": self._average.state_dict() if self._average else None,
            "losses": self._losses,
            "seen": self._seen,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._stream.load_state_dict(state["stream"])
        if self._average:
            self._average.load_state_dict(state["average"])
        self._losses, self._seen = state["losses"], state["seen"]

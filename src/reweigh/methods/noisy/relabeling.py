"""Training on labels that are replaced along the way where the predictions of recent epochs contradict them."""

from dataclasses import replace
from typing import Any

from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.objective import Objective
from reweigh.methods.erm import ERM
from reweigh.methods.parts.guesses import warn_of_vanished
from reweigh.methods.parts.recent import RecentPredictions
from reweigh.methods.setup import Setup


class Relabeling(ERM):
    """What PLC and LRT share: after the warm-up, labels are reconsidered before each epoch.

    Attributes:
        labels: Shape (N,), the current labels.

    Args:
        window: Number of epochs whose predictions are averaged.
    """

    replaces_labels = True
    state = ("labels", "_recent", "_rounds")

    def __init__(self, setup: Setup, window: int):
        super().__init__(setup)
        self.labels = setup.train_set.labels.clone()
        self._recent = RecentPredictions(len(setup.train_set), setup.train_set.num_classes, window)
        self._rounds = 0

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if epoch > 0 and not warm_up:
            believed, times = self._recent.mean()
            labels = self._reconsidered(believed).where(times > 0, self.labels)
            warn_of_vanished(self.labels, labels, self._setup.train_set.class_names)
            self.labels = labels
            self._rounds += 1
        self._recent.start_epoch()

    def _reconsidered(self, believed: Tensor) -> Tensor:
        """The labels to go on with, shape (N,), given the mean predictions of recent epochs, shape (N, num_classes)."""
        raise NotImplementedError

    def objective(self, batch: Batch) -> Objective:
        return super().objective(replace(batch, labels=self.labels[batch.index].to(batch.inputs.device)))

    def follow(self, batch: Batch, outputs: Any) -> None:
        self._recent.note(batch.index, outputs.detach().softmax(1))

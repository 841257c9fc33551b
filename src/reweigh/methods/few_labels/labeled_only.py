"""Plain training on the labeled samples alone, which every method for few labels builds on."""

from collections.abc import Mapping
from typing import Annotated

import torch
from annotated_types import Ge, Lt
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.descent import descend
from reweigh.methods.erm import ERM
from reweigh.methods.parts.guesses import Guesses
from reweigh.methods.parts.labeled_batches import LabeledBatches
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import AveragedModel


class LabeledOnly(ERM):
    """Plain training on the labeled samples, for as many steps as methods that also use the unlabeled ones.

    For each batch of the loop, which has labeled and unlabeled samples, a step also draws a labeled batch and learns
    from it. After the warm-up, the methods that build on this one add a term for the batch of the loop.

    Args:
        labeled_batch: Number of samples in a labeled batch.
        average: Decay of the EMA of the model, which is evaluated and saved; 0 is the model itself. After t steps, the
            decay is at most (1 + t) / (10 + t), so that the EMA forgets the beginning of a short training too.
    """

    unlabeled = True
    state = ("_labeled", "_average", "_steps", "_warm_up", "_epoch", "_guesses")

    def __init__(
        self,
        setup: Setup,
        *,
        labeled_batch: Annotated[int, Ge(1)] = 64,
        average: Annotated[float, Ge(0), Lt(1)] = 0.999,
    ):
        super().__init__(setup)
        self._labeled = LabeledBatches(setup, labeled_batch)
        self._average = AveragedModel(setup.model, average)
        self._decay = average
        self._steps = 0
        self._warm_up = False
        self._epoch = -1  # counted from the end of the warm-up
        self._guesses = Guesses(setup.train_set, setup.device)

    @property
    def model(self) -> nn.Module:
        return self._average.model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._warm_up = warm_up
        self._epoch += not warm_up

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        labeled = self._labeled.next()
        numbers = self._descend(labeled, batch)
        self._average.decay = min(self._decay, (1 + self._steps) / (10 + self._steps))
        self._average.update(self._model)
        self._steps += 1
        return numbers

    def _descend(self, labeled: Batch, batch: Batch) -> Mapping[str, float | Tensor]:
        """One step of the optimizer."""
        if self._warm_up:
            loss, numbers = self._loss(labeled), {}
        else:
            loss, numbers = self._objective(labeled, batch)
        descend(loss, self._setup.optimizer)
        return {"loss": loss.detach(), **numbers}

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """What a step minimizes, a scalar, and numbers to log; methods that use the batch too override this."""
        return self._loss(labeled), {}

    @torch.no_grad()
    def _predicted(self, inputs: Tensor) -> Tensor:
        """Probabilities of the model as it trains, shape (n, num_classes), held constant."""
        return self._model(inputs).softmax(1)

    def sample_weights(self) -> Tensor | None:
        weights = self._guesses.weights
        return None if bool(weights.isnan().all()) else weights

"""What methods for few labels share: labeled batches beside the unlabeled ones, and an average that is judged."""

from typing import Annotated, Any

import torch
from annotated_types import Ge, Lt
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.objective import Forward
from reweigh.methods.erm import ERM
from reweigh.methods.labeled_batches import LabeledBatches
from reweigh.methods.pseudo_labeled import PseudoLabeled
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import AveragedModel


class LabeledOnly(ERM):
    """Plain training on the labeled samples alone, in as many steps as methods that use the unlabeled ones too.

    Each batch of the loop, labeled and unlabeled samples alike, stands for one step; the labeled batch comes beside it.
    A method that learns from both adds a term for the first. In the warm-up none does.

    Args:
        labeled_batch: size of the labeled batch.
        average: decay of the averaged model, which is judged and saved; 0 judges the model itself. After t steps it is
            at most (1 + t) / (10 + t), so that the average of a short training forgets its beginning too.
    """

    unlabeled = True  # samples without a label, -1, may be among the training samples

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
        self._pseudo = PseudoLabeled(setup.train_set)

    @property
    def model(self) -> nn.Module:
        return self._average.model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._warm_up = warm_up
        self._epoch += not warm_up

    def step(self, batch: Batch) -> dict[str, float]:
        labeled = self._labeled.next()
        numbers = self._descend(labeled, batch)
        self._average.decay = min(self._decay, (1 + self._steps) / (10 + self._steps))
        self._average.update(self._model)
        self._steps += 1
        return numbers

    def _descend(self, labeled: Batch, batch: Batch) -> dict[str, float]:
        """One step of the optimizer."""
        optimizer = self._setup.optimizer
        optimizer.zero_grad()
        if self._warm_up:
            loss, numbers = self._loss(labeled), {}
        else:
            loss, numbers = self._objective(labeled, batch)
        loss.backward()
        optimizer.step()
        return {"loss": loss.item(), **numbers}

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """What a step descends, a scalar, and numbers to log; a method that uses the batch too has its own."""
        return self._loss(labeled), {}

    @torch.no_grad()
    def _predicted(self, inputs: Tensor) -> Tensor:
        """Probabilities of the model as it trains, shape (n, num_classes), held constant."""
        return self._model(inputs).softmax(1)

    def sample_weights(self) -> Tensor | None:
        weights = self._pseudo.weights
        return None if bool(weights.isnan().all()) else weights

    def guesses(self) -> Tensor:
        """The latest pseudo-label of each training sample, shape (N,); -1 where it has none."""
        return self._pseudo.labels

    def state_dict(self) -> dict[str, Any]:
        return {
            **super().state_dict(),
            "labeled": self._labeled.state_dict(),
            "average": self._average.state_dict(),
            "steps": self._steps,
            "warm_up": self._warm_up,
            "epoch": self._epoch,
            "pseudo": self._pseudo.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._labeled.load_state_dict(state["labeled"])
        self._average.load_state_dict(state["average"])
        self._steps, self._warm_up, self._epoch = state["steps"], state["warm_up"], state["epoch"]
        self._pseudo.load_state_dict(state["pseudo"])


def together(forward: Forward, labeled: Batch, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Logits of the labeled batch and of other inputs, in one pass: BatchNorm sees them as one batch."""
    logits = forward(torch.cat([labeled.inputs, inputs]))
    return logits[: len(labeled)], logits[len(labeled) :]

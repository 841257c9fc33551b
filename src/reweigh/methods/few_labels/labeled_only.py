"""Plain training on the labeled samples alone, which every method for few labels builds on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Le, Lt
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.descent import descend
from reweigh.methods.erm import ERM
from reweigh.methods.parts.guesses import Guesses, ramp
from reweigh.methods.parts.labeled_batches import LabeledBatches, together
from reweigh.pseudo_labels import AveragedModel


@dataclass(eq=False, repr=False, kw_only=True)
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

    labeled_batch: Annotated[int, Ge(1)] = 64
    average: Annotated[float, Ge(0), Lt(1)] = 0.999

    def __post_init__(self) -> None:
        super().__post_init__()
        self._labeled = LabeledBatches(self.setup, self.labeled_batch)
        self._average = AveragedModel(self.setup.model, self.average)
        self._steps = 0
        self._epoch = -1  # counted from the end of the warm-up
        self._guesses = Guesses(self.setup.train_set, self.setup.device)

    @property
    def model(self) -> nn.Module:
        return self._average.model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._epoch += not warm_up

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        labeled = self._labeled.next()
        numbers = self._descend(labeled, batch)
        self._average.decay = min(self.average, (1 + self._steps) / (10 + self._steps))
        self._average.update(self._model)
        self._steps += 1
        return numbers

    def _descend(self, labeled: Batch, batch: Batch) -> Mapping[str, float | Tensor]:
        """One step of the optimizer."""
        if self._warm_up:
            loss, numbers = self._loss(labeled), {}
        else:
            loss, numbers = self._objective(labeled, batch)
        descend(loss, self.setup.optimizer)
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


@dataclass(eq=False, repr=False, kw_only=True)
class PseudoLabel(LabeledOnly):
    """Pseudo-Label (Lee, ICML workshop 2013): the likeliest class serves as the label.

        mean of L(f(x), y) over labeled + factor(t) * mean of L(f(u), arg max f(u)) over all

    The factor is 0 during the warm-up (paper: until epoch T1 = 100) and then rises linearly (paper: until T2 = 600).
    This works for any data, not only images. Left out: the paper's pre-training by a denoising auto-encoder.

    Lee: Pseudo-Label: The Simple and Efficient Semi-Supervised Learning Method for Deep Neural Networks.
    Takes all options of ``labeled-only``, and:

    Args:
        factor: Final factor of the unlabeled term. Paper: alpha_f.
        ramp_epochs: Number of epochs after the warm-up until the factor is reached. Paper: T2 - T1.
        threshold: Smallest probability of a pseudo-label that is used. The paper uses all pseudo-labels; later work
            sets 0.95.
    """

    factor: Annotated[float, Ge(0)] = 3.0
    ramp_epochs: Annotated[int, Ge(0)] = 10
    threshold: Annotated[float, Ge(0), Le(1)] = 0.0

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        loss = self.setup.loss
        known, logits = together(self._model, labeled, batch.inputs)
        confidence, pseudo = logits.detach().softmax(1).max(1)
        kept = (confidence >= self.threshold).to(logits.dtype)
        unlabeled = (kept * batch.weighted(loss(logits, pseudo))).mean()
        factor = self.factor * ramp(self._epoch, self.ramp_epochs)
        total = labeled.weighted(loss(known, labeled.labels)).mean() + factor * unlabeled
        return total, self._guesses.note(batch.index, pseudo, kept)

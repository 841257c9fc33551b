"""The Pi-model: two noisy looks at one sample should be classified alike."""

from typing import Annotated, Any

from annotated_types import Ge
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.methods.ramp import ramp
from reweigh.methods.semi_supervised import LabeledOnly, together
from reweigh.methods.setup import Setup
from reweigh.methods.variant import extends


@extends(LabeledOnly)
class PiModel(LabeledOnly):
    """The Pi-model (Laine and Aila, ICLR 2017; Rasmus et al., NeurIPS 2015): predictions must not depend on the noise.

        mean of L(f(x), y) over labeled + factor(t) * mean of |p - p'|^2 / num_classes over all

    p and p' are the probabilities for two views of a sample, each with transforms and dropout of its own; without both
    the term is nothing. The factor rises along exp(-5 (1 - t)^2). The paper divides both sums by the whole batch and
    its factor by the share of labeled samples: as means, the ratio is the same.

    Laine, Aila: Temporal Ensembling for Semi-Supervised Learning. Rasmus, Valpola, Honkala, Berglund, Raiko:
    Semi-Supervised Learning with Ladder Networks.

    Args:
        factor: how much unlabeled samples count in the end. Paper: w_max, 100 for CIFAR-10, with Adam; by gradient
            descent with momentum so much soon makes all predictions alike.
        ramp_epochs: until then, counted from the end of the warm-up. Paper: 80 of 300.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        factor: Annotated[float, Ge(0)] = 10.0,
        ramp_epochs: Annotated[int, Ge(0)] = 10,
        **options: Any,
    ):
        super().__init__(setup, **options)
        self._factor = factor
        self._ramp_epochs = ramp_epochs

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        known, first = together(self._model, labeled, batch.inputs)
        second = self._second(another_view(self._setup, batch))
        apart = (first.softmax(1) - second).square().mean(1)
        factor = self._factor * ramp("gaussian", self._epoch, self._ramp_epochs)
        supervised = labeled.weighted(self._setup.loss(known, labeled.labels)).mean()
        return supervised + factor * batch.weighted(apart).mean(), {}

    def _second(self, inputs: Tensor) -> Tensor:
        """The other look: probabilities, shape (n, num_classes), of the same model."""
        return self._model(inputs).softmax(1)


def another_view(setup: Setup, batch: Batch) -> Tensor:
    """The samples of a batch, augmented anew where there is something to augment with."""
    if setup.augment is None:
        return batch.inputs
    return setup.train_set.batch(batch.index.cpu(), setup.augment, setup.generator, setup.device).inputs

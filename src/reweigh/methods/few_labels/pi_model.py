"""The Pi-model and Mean Teacher: two noisy views of a sample should be classified alike."""

from typing import Annotated

from annotated_types import Ge, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.methods.few_labels.labeled_only import LabeledOnly
from reweigh.methods.parts.labeled_batches import together
from reweigh.methods.parts.ramp import ramp
from reweigh.methods.parts.views import another_view
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import predicted_in_training


class PiModel(LabeledOnly):
    """Pi-model (Laine and Aila, ICLR 2017; Rasmus et al., NeurIPS 2015): two views must get the same prediction.

        mean of L(f(x), y) over labeled + factor(t) * mean of |p - p'|^2 / num_classes over all

    p and p' are the probabilities for two views of a sample, each with its own transforms and dropout; without
    transforms and dropout, the term is zero. The factor rises along exp(-5 (1 - t)^2). The paper divides both sums by
    the size of the whole batch, and its factor by the share of labeled samples; the ratio of both terms is the same.

    Laine, Aila: Temporal Ensembling for Semi-Supervised Learning. Rasmus, Valpola, Honkala, Berglund, Raiko:
    Semi-Supervised Learning with Ladder Networks.

    Args:
        factor: Final factor of the unlabeled term. Paper: w_max, 100 for CIFAR-10 with Adam. With SGD and momentum, 100
            soon makes all predictions the same.
        ramp_epochs: Number of epochs after the warm-up until the factor is reached. Paper: 80 of 300 epochs.
        labeled_batch: Number of samples in a labeled batch.
        average: Decay of the EMA of the model, as in ``labeled-only``.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        factor: Annotated[float, Ge(0)] = 10.0,
        ramp_epochs: Annotated[int, Ge(0)] = 10,
        labeled_batch: Annotated[int, Ge(1)] = 64,
        average: Annotated[float, Ge(0), Lt(1)] = 0.999,
    ):
        super().__init__(setup, labeled_batch=labeled_batch, average=average)
        self._factor = factor
        self._ramp_epochs = ramp_epochs

    def _objective(self, labeled: Batch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        known, first = together(self._model, labeled, batch.inputs)
        second = self._second(another_view(self._setup, batch))
        apart = (first.softmax(1) - second).square().mean(1)
        factor = self._factor * ramp("gaussian", self._epoch, self._ramp_epochs)
        supervised = labeled.weighted(self._setup.loss(known, labeled.labels)).mean()
        return supervised + factor * batch.weighted(apart).mean(), {}

    def _second(self, inputs: Tensor) -> Tensor:
        """Probabilities for the second view, shape (n, num_classes), by the same model."""
        return self._model(inputs).softmax(1)


class MeanTeacher(PiModel):
    """Mean Teacher (Tarvainen and Valpola, NeurIPS 2017): predictions must agree with those of an EMA of the model.

        mean of L(f(x), y) over labeled + factor(t) * mean of |p - teacher's p'|^2 / num_classes over all

    The teacher is the EMA of the model, which is also evaluated and saved; no gradient flows through its predictions.
    It predicts with dropout and the BatchNorm statistics of the batch, as the student does. Takes all options of
    ``pi-model``. In the paper, the factor is 100 (with Adam) and is reached after 40,000 of 150,000 steps; the decay is
    0.99 until then and 0.999 after.

    Tarvainen, Valpola: Mean Teachers Are Better Role Models.
    """

    def _second(self, inputs: Tensor) -> Tensor:
        return predicted_in_training(self._average.model, inputs)

"""PLC: replace labels that are clearly less likely than another class, and little by little less clear ones too."""

from typing import Annotated

from annotated_types import Ge, Gt, Le
from torch import Tensor

from reweigh.methods.noisy.relabeling import Relabeling
from reweigh.methods.setup import Setup

FEW = 1e-3  # share of replaced labels below which the threshold rises
STEP, HIGHEST = 0.1, 0.9


class PLC(Relabeling):
    """Progressive label correction (Zhang et al., ICLR 2021): replace a label if another class is far likelier.

        replace y_i by arg max f_i    if  f_i[y_i] / max f_i < threshold

    f is the mean prediction in the training steps of the last epochs. Labels are replaced before each epoch after the
    warm-up (paper: 8 of 180 epochs). If fewer than 0.1 % of them are replaced, the threshold rises by 0.1, up to 0.9. A
    replaced label stays, unless it is replaced again.

    Zhang, Zheng, Wu, Goswami, Chen: Learning with Feature-Dependent Label Noise: A Progressive Approach. The paper
    reports the epoch with the best accuracy on clean validation data.

    Args:
        threshold: Ratio of likelihoods below which a label is replaced at first. Paper: 0.3 for CIFAR; 1 - theta.
        window: Number of epochs whose predictions are averaged.
    """

    state = ("_threshold",)

    def __init__(
        self, setup: Setup, *, threshold: Annotated[float, Gt(0), Le(1)] = 0.3, window: Annotated[int, Ge(1)] = 5
    ):
        super().__init__(setup, window)
        self._threshold = threshold

    def _reconsidered(self, believed: Tensor) -> Tensor:
        labels = progressed(self.labels, believed, self._threshold)
        if float((labels != self.labels).double().mean()) < FEW:
            self._threshold = max(self._threshold, min(self._threshold + STEP, HIGHEST))
        return labels


def progressed(labels: Tensor, believed: Tensor, threshold: float) -> Tensor:
    """Labels, shape (N,), replaced by the likeliest class if they are less likely by that ratio.

    Args:
        believed: Shape (N, num_classes), how likely each class is.
    """
    own = believed.gather(1, labels[:, None]).squeeze(1)
    most, likeliest = believed.max(1)
    return likeliest.where(own < threshold * most, labels)

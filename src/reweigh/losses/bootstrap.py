"""Bootstrapping: the label is mixed with the prediction of the model itself, soft or hard."""

from typing import Annotated

from annotated_types import Ge, Le
from torch import Tensor

from reweigh.losses.labels import as_rows


def bootstrap_soft(logits: Tensor, labels: Tensor, *, beta: Annotated[float, Ge(0), Le(1)] = 0.95) -> Tensor:
    """Soft bootstrapping (Reed et al., ICLR workshop 2015): the label mixed with what the model predicts.

    -sum_j (beta y_j + (1 - beta) p_j) log p_j

    The prediction in the target is differentiated too: the second part is the entropy of the prediction.

    Reed, Lee, Anguelov, Szegedy, Erhan, Rabinovich: Training Deep Neural Networks on Noisy Labels with Bootstrapping.

    Args:
        beta: weight of the given label; 1 is cross-entropy.
    """
    log_probs = logits.log_softmax(1)
    target = beta * as_rows(labels, logits) + (1 - beta) * log_probs.exp()
    return -(target * log_probs).sum(1)


def bootstrap_hard(logits: Tensor, labels: Tensor, *, beta: Annotated[float, Ge(0), Le(1)] = 0.8) -> Tensor:
    """Hard bootstrapping (Reed et al., ICLR workshop 2015): the label mixed with the class that the model chooses.

    -sum_j (beta y_j + (1 - beta) z_j) log p_j,    z the one-hot prediction

    Reed, Lee, Anguelov, Szegedy, Erhan, Rabinovich: Training Deep Neural Networks on Noisy Labels with Bootstrapping.

    Args:
        beta: weight of the given label; 1 is cross-entropy.
    """
    log_probs = logits.log_softmax(1)
    target = beta * as_rows(labels, logits) + (1 - beta) * as_rows(logits.argmax(1), logits)
    return -(target * log_probs).sum(1)

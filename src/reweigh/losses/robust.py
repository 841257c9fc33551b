"""Losses that are robust to wrong labels: generalized cross-entropy and bootstrapping."""

from typing import Annotated

from annotated_types import Ge, Gt, Le
from torch import Tensor

from reweigh.losses.labels import as_rows


def bootstrap_soft(logits: Tensor, labels: Tensor, *, beta: Annotated[float, Ge(0), Le(1)] = 0.95) -> Tensor:
    """Soft bootstrapping (Reed et al., ICLR workshop 2015): mix the label with the predicted probabilities.

    -sum_j (beta y_j + (1 - beta) p_j) log p_j

    The gradient also flows through the prediction in the target, so the second part is the entropy of the prediction.

    Reed, Lee, Anguelov, Szegedy, Erhan, Rabinovich: Training Deep Neural Networks on Noisy Labels with Bootstrapping.

    Args:
        beta: Weight of the given label; 1 is cross-entropy.
    """
    log_probs = logits.log_softmax(1)
    target = beta * as_rows(labels, logits) + (1 - beta) * log_probs.exp()
    return -(target * log_probs).sum(1)


def bootstrap_hard(logits: Tensor, labels: Tensor, *, beta: Annotated[float, Ge(0), Le(1)] = 0.8) -> Tensor:
    """Hard bootstrapping (Reed et al., ICLR workshop 2015): mix the label with the predicted class.

    -sum_j (beta y_j + (1 - beta) z_j) log p_j,    z the one-hot prediction

    Reed, Lee, Anguelov, Szegedy, Erhan, Rabinovich: Training Deep Neural Networks on Noisy Labels with Bootstrapping.

    Args:
        beta: Weight of the given label; 1 is cross-entropy.
    """
    log_probs = logits.log_softmax(1)
    target = beta * as_rows(labels, logits) + (1 - beta) * as_rows(logits.argmax(1), logits)
    return -(target * log_probs).sum(1)


def gce(logits: Tensor, labels: Tensor, *, q: Annotated[float, Gt(0), Le(1)] = 0.7) -> Tensor:
    """Generalized cross-entropy (Zhang & Sabuncu, NeurIPS 2018): between cross-entropy and mean absolute error.

    (1 - p^q) / q,    p the probability of the label; the loss of a soft label is the weighted mean over its classes.

    Zhang, Sabuncu: Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy Labels. Left out: the
    truncation.

    Examples:
        >>> import torch
        >>> logits = torch.tensor([[8.0, 0.0], [0.0, 8.0]])
        >>> gce(logits, torch.tensor([0, 0])).round(decimals=2)  # bounded by 1 / q, unlike cross-entropy
        tensor([0.0000, 1.4200])

    Args:
        q: Exponent; close to 0 is cross-entropy, and 1 is half the absolute error.
    """
    each = -(q * logits.log_softmax(1)).expm1() / q
    return (as_rows(labels, logits) * each).sum(1)

"""log(1 - p) from log p without loss of precision, however confident the model is."""

import torch
from torch import Tensor


def log_complement(log_probs: Tensor) -> Tensor:
    """The log probability of all other classes together, for each class.

    log(1 - p_j) = log sum_{i != j} p_i

    Subtracting p_j from one is accurate while p_j <= 1/2. That fails for at most one class of a row, the likeliest, for
    which the others are summed.

    Args:
        log_probs: shape (n, num_classes), rows of a log-softmax.

    Returns:
        Shape (n, num_classes), finite, with finite derivatives.
    """
    top = torch.zeros_like(log_probs, dtype=torch.bool).scatter(1, log_probs.argmax(1, keepdim=True), True)
    others = log_probs.masked_fill(top, -torch.inf)
    return torch.where(top, others.logsumexp(1, keepdim=True), torch.log1p(-others.exp()))

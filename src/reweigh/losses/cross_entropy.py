"""Cross-entropy and its kin, with labels as classes or as rows of probabilities, or seen through known noise."""

from functools import lru_cache
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt, Le
from pydantic import AfterValidator
from torch import Tensor

from reweigh.errors import DataError


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy: minus the log probability of the label; with soft labels, its mean under them.

    Examples:
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> cross_entropy(logits, torch.tensor([0, 0])).round(decimals=3)
        tensor([0.1270, 2.1270])
        >>> cross_entropy(logits, torch.tensor([[1.0, 0.0], [0.5, 0.5]])).round(decimals=3)  # soft labels
        tensor([0.1270, 1.1270])
    """
    try:
        return F.cross_entropy(logits, labels, reduction="none")
    except IndexError:
        raise wrong_labels(labels, logits.shape[1]) from None


def focal(logits: Tensor, labels: Tensor, *, gamma: Annotated[float, Ge(0)] = 2.0) -> Tensor:
    """Focal loss (Lin et al., ICCV 2017): samples that are predicted confidently count less.

    -(1 - p)^gamma log p,    p the probability of the label; for a soft label, the weighted mean over its classes.

    Lin, Goyal, Girshick, He, Dollar: Focal Loss for Dense Object Detection, Eq. 4, with a softmax over the classes.

    Examples:
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> focal(logits, torch.tensor([0, 0]), gamma=2.0).round(decimals=3)  # the easy sample counts much less
        tensor([0.0020, 1.6500])

    Args:
        gamma: How much less confident samples count; 0 is cross-entropy.
    """
    log_probs = logits.log_softmax(1)
    each = -(gamma * log_complement(log_probs)).exp() * log_probs
    return (as_rows(labels, logits) * each).sum(1)


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


def log_complement(log_probs: Tensor) -> Tensor:
    """The log probability of all other classes together, for each class.

    log(1 - p_j) = log sum_{i != j} p_i

    Subtracting p_j from one is accurate while p_j <= 1/2. That fails for at most one class of a row, the likeliest, for
    which the others are summed.

    Args:
        log_probs: Shape (n, num_classes), rows of a log-softmax.

    Returns:
        Shape (n, num_classes), finite, with finite derivatives.
    """
    top = torch.zeros_like(log_probs, dtype=torch.bool).scatter(1, log_probs.argmax(1, keepdim=True), True)
    others = log_probs.masked_fill(top, -torch.inf)
    return torch.where(top, others.logsumexp(1, keepdim=True), torch.log1p(-others.exp()))


def as_rows(labels: Tensor, logits: Tensor) -> Tensor:
    """One row per sample: the one-hot label, or the soft label unchanged.

    Args:
        labels: Shape (n,) integers, or (n, num_classes) rows that sum to one.
        logits: Shape (n, num_classes); gives dtype and device.

    Returns:
        Shape (n, num_classes).

    Raises:
        DataError: A label is not a class of the model, or the shapes do not match.
    """
    if labels.shape == logits.shape:
        return labels.to(logits.dtype)
    check_shape(labels, logits)
    try:
        return torch.zeros_like(logits).detach().scatter(1, labels.long()[:, None], 1.0)
    except RuntimeError:
        raise wrong_labels(labels, logits.shape[1]) from None


def check_shape(labels: Tensor, logits: Tensor) -> None:
    """Raise a DataError unless there is one integer or one row of probabilities per sample."""
    integers = labels.shape == logits.shape[:1] and not labels.is_floating_point()
    if not integers and labels.shape != logits.shape:
        raise DataError(
            f"labels: shape {tuple(labels.shape)} of {labels.dtype} for logits of shape {tuple(logits.shape)}; "
            f"give integers, shape ({len(logits)},), or rows that sum to one, shape {tuple(logits.shape)}"
        )


def wrong_labels(labels: Tensor, num_classes: int) -> DataError:
    return DataError(
        f"labels from {int(labels.min())} to {int(labels.max())} for a model with {num_classes} outputs; "
        f"labels must be 0 to {num_classes - 1}. Give the model more outputs or renumber the labels"
    )


Rows = tuple[tuple[float, ...], ...]


def stochastic(transition: Rows) -> Rows:
    """The matrix, if it is square with distributions as rows; otherwise a DataError that lists every wrong row."""
    wrong = [
        f"row {number} has {len(row)} entries" if len(row) != len(transition) else f"row {number} sums to {sum(row):g}"
        for number, row in enumerate(transition)
        if len(row) != len(transition) or not abs(sum(row) - 1) < 1e-4
    ]
    wrong += [f"row {i} has the entry {min(row):g}" for i, row in enumerate(transition) if any(t < 0 for t in row)]
    if wrong or not transition:
        raise DataError(
            f"transition: {'; '.join(wrong) or 'no rows'}. Row i is the distribution of labels of class i: one entry "
            "per class, none negative, that sum to 1"
        )
    never = [str(number) for number, column in enumerate(zip(*transition, strict=True)) if not any(column)]
    if never:
        raise DataError(
            f"transition: column {', '.join(never)} is all zero, so no sample could have that label; "
            "give at least one class a share of that label"
        )
    return transition


def forward(logits: Tensor, labels: Tensor, *, transition: Annotated[Rows, AfterValidator(stochastic)]) -> Tensor:
    """Forward correction (Patrini et al., CVPR 2017): cross-entropy of predictions to which the known noise is applied.

    -log sum_j transition[j, label] p_j

    The loss of a soft label is the weighted mean over its classes, and takes num_classes times the memory.

    Patrini, Rozza, Menon, Nock, Qu: Making Deep Neural Networks Robust to Label Noise: a Loss Correction Approach.

    Examples:
        >>> import torch
        >>> logits = torch.tensor([[8.0, 0.0]])  # sure of class 0, of whose labels 40 % are wrong
        >>> forward(logits, torch.tensor([1]), transition=((0.6, 0.4), (0.0, 1.0))).round(decimals=2)  # -log 0.4
        tensor([0.9200])

    Args:
        transition: Matrix of the noise; row: true class, column: given label; rows sum to one. Paper: T. The method
            ``forward`` can estimate it.

    Raises:
        DataError: A label is not a class of the model; or the matrix has another size, or rows that do not sum to one.
    """
    check_shape(labels, logits)
    log_transition = _log_columns(tuple(map(tuple, transition)), logits.dtype, logits.device)
    if len(log_transition) != logits.shape[1]:
        raise DataError(
            f"transition: {len(log_transition)} rows for a model with {logits.shape[1]} outputs; give one row per class"
        )
    log_probs = logits.log_softmax(1)
    if labels.dim() == 2:
        each = (log_probs[:, None] + log_transition).logsumexp(2)
        return -(labels.to(logits.dtype) * each).sum(1)
    try:
        columns = log_transition.index_select(0, labels.long())
    except (IndexError, RuntimeError):
        raise wrong_labels(labels, logits.shape[1]) from None
    return -(log_probs + columns).logsumexp(1)


@lru_cache(maxsize=8)
def _log_columns(transition: Rows, dtype: torch.dtype, device: torch.device) -> Tensor:
    """The logarithm of the checked matrix, transposed; computed once, not in every step."""
    return torch.tensor(stochastic(transition), dtype=torch.float64).T.log().to(dtype).to(device)

"""Forward correction: the model learns true labels from noisy ones, given how classes are confused."""

from functools import lru_cache
from typing import Annotated

import torch
from pydantic import AfterValidator
from torch import Tensor

from reweigh.errors import DataError
from reweigh.losses.cross_entropy import check_shape, wrong_labels

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

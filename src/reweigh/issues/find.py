"""Label issues from predictions that the user brings along, without training anything."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F

from reweigh.errors import DataError
from reweigh.issues.samples import Samples
from reweigh.issues.stock import TINY, take_stock_unseen
from reweigh.issues.verdict import verdict_by_posterior

if TYPE_CHECKING:
    import pandas as pd

SLACK = 1e-3


def find_label_issues(labels: Any, pred_probs: Any, *, ranked: bool = True) -> "pd.DataFrame":
    """Which labels look wrong, judged by predictions of models that did not see them.

    Computes the posterior of the true class of each sample by Bayes' rule, as ``two-looks`` does. How often each class
    is given for each other class is estimated from the predictions themselves.

    Examples:
        >>> labels = np.tile([0, 1], 50)
        >>> labels[7] = 0  # a wrong label
        >>> pred_probs = np.tile([[0.9, 0.1], [0.1, 0.9]], (50, 1))  # such as cross_val_predict gives
        >>> find_label_issues(labels, pred_probs).loc[[7], ["given_label", "suggested_label", "is_label_issue"]]
           given_label  suggested_label  is_label_issue
        7            0                1            True

    Args:
        labels: Shape (N,), class numbers 0, 1, ...: the columns of ``pred_probs``.
        pred_probs: Shape (N, num_classes), rows that sum to one; out of sample, such as from cross-validation.
        ranked: Whether the worst label comes first; otherwise rows stay in the order of ``labels``.

    Returns:
        One row per sample: given_label, suggested_label, label_quality, is_label_issue. The index is that of labels if
        they are a Series, otherwise the row number.

    Raises:
        DataError: The two do not fit, rows are not probabilities, or labels are not their columns.
    """
    import pandas as pd

    try:
        rows = np.array(pred_probs, dtype=np.float64)  # a copy, because arrays of pandas cannot be written to
    except (TypeError, ValueError):
        raise DataError("pred_probs: not an array of numbers; pass N rows of probabilities") from None
    given = np.asarray(labels)
    if rows.ndim != 2 or given.ndim != 1 or len(rows) != len(given) or len(given) == 0:
        raise DataError(f"labels of shape {given.shape} and pred_probs of shape {rows.shape}; pass N labels and N rows")
    wrong = np.flatnonzero(~(np.abs(rows.sum(1) - 1) <= SLACK) | (rows < 0).any(1))
    if len(wrong):
        raise DataError(f"pred_probs: row {wrong[0]} is {rows[wrong[0]].tolist()}; each row should sum to one")
    classes = rows.shape[1]
    numbered = given.dtype.kind in "biu"
    if not numbered or given.min() < 0 or given.max() >= classes:
        got = f"{given.min()} to {given.max()}" if numbered else f"{given.dtype}, such as {given[:1].tolist()[0]!r}"
        raise DataError(
            f"labels: {got}; give class numbers 0 to {classes - 1}, the columns of pred_probs. "
            "np.unique(labels, return_inverse=True)[1] numbers names in their order"
        )
    numbers = torch.from_numpy(given.astype(np.int64))
    one_hot = F.one_hot(numbers, classes).double()
    predictions = torch.from_numpy(rows)
    balanced = predictions / one_hot.mean(0).clamp_min(TINY)  # as if all classes were equally frequent
    verdict = verdict_by_posterior(
        take_stock_unseen(balanced / balanced.sum(1, keepdim=True), one_hot).posterior, numbers
    )
    losses = -predictions.gather(1, numbers[:, None]).squeeze(1).clamp_min(TINY).log()
    found = Samples(numbers, *verdict, losses).label_issues(range(classes))
    found = (found if ranked else found.sort_index()).drop(columns=["weight", "family"])
    return found.set_axis(labels.index.take(found.index.to_numpy())) if isinstance(labels, pd.Series) else found

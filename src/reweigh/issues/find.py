"""Label issues from predictions that the user brings along, without training anything."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.errors import DataError
from reweigh.issues.samples import Samples
from reweigh.issues.stock import TEMPERATURES, TINY, confident_joint, explain
from reweigh.issues.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

MAX_SUM_ERROR = 1e-3  # of a row of probabilities
SOFTER = (2.0, 3.0, 5.0, 8.0, 12.0, 20.0)  # temperatures for classifiers that are far too sure, as naive Bayes is
MIN_PROBABILITY = 1e-30  # the order of very small probabilities counts
MIN_DOUBT = 1 / 3  # of a label that looks wrong


def find_label_issues(labels: Any, pred_probs: Any, *, ranked: bool = True) -> "pd.DataFrame":
    """Which labels look wrong, judged by predictions of models that did not see them.

    The quality of a label is its posterior probability by Bayes' rule. How often each class is given for each other
    class is estimated from the predictions themselves. Such a confusion may be that of the people who label or that of
    the model, so quality is the mean over both: with this confusion, and with wrong labels in no particular direction.
    As many labels look wrong, those of lowest quality, as maximize the expected F1 score.

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
    wrong = np.flatnonzero(~(np.abs(rows.sum(1) - 1) <= MAX_SUM_ERROR) | (rows < 0).any(1))
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
    numbers, predictions = torch.from_numpy(given.astype(np.int64)), torch.from_numpy(rows)
    verdict = verdict_of_others(numbers, predictions)
    losses = -predictions.gather(1, numbers[:, None]).squeeze(1).clamp_min(TINY).log()
    found = Samples(numbers, *verdict, losses).label_issues(range(classes))
    found = (found if ranked else found.sort_index()).drop(columns=["weight", "family"])
    return found.set_axis(labels.index.take(found.index.to_numpy())) if isinstance(labels, pd.Series) else found


def verdict_of_others(labels: Tensor, predictions: Tensor) -> Verdict:
    """How credible labels are by predictions from elsewhere; see ``find_label_issues``.

    Args:
        labels: Shape (N,).
        predictions: Shape (N, C), made without the label, for the class shares of the labels.
    """
    classes = predictions.shape[1]
    one_hot = F.one_hot(labels, classes).double()
    joint = confident_joint(predictions, one_hot)
    estimated = joint / joint.sum(0).clamp_min(TINY)
    rate = 1 - float(joint.trace() / joint.sum())
    even = torch.full_like(estimated, rate / max(classes - 1, 1)).fill_diagonal_(1 - rate)
    uniform = torch.full((classes,), 1 / classes, dtype=torch.float64)  # the predictions know the shares of the classes
    by_labelers, by_chance = (
        explain(
            predictions, one_hot, transition, uniform, temperatures=(*TEMPERATURES, *SOFTER), least=MIN_PROBABILITY
        )[0]
        for transition in (estimated, even)
    )
    posterior = (by_labelers + by_chance) / 2
    quality = posterior.gather(1, labels[:, None]).squeeze(1)
    wrong = torch.zeros(len(labels), dtype=torch.bool)
    wrong[quality.argsort(stable=True)[: best_number(1 - by_labelers.gather(1, labels[:, None]).squeeze(1))]] = True
    other = posterior.scatter(1, labels[:, None], -1.0).argmax(1)
    return Verdict(torch.where(wrong, other, labels), quality.float(), wrong)


def best_number(doubt: Tensor) -> int:
    """How many labels to flag, the most doubtful first, for the highest expected F1 score.

        F1 of the first m  =  2 (doubt_1 + ... + doubt_m) / (m + sum of all doubts)

    >>> best_number(torch.tensor([0.9, 0.1, 0.8, 0.0]))
    2

    Args:
        doubt: Shape (N,), probability that each label is wrong. One below MIN_DOUBT is not flagged.
    """
    worst = doubt.sort(descending=True).values
    score = worst.cumsum(0) / (torch.arange(1, len(worst) + 1) + worst.sum())
    return min(int(score.argmax()) + 1, int((worst >= MIN_DOUBT).sum()))

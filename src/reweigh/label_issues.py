"""Which labels to look at: a quality for each given label, from what training made of the sample."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import torch
from torch import Tensor

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 100_000


class Rows(Protocol):
    """Predictions by index: a tensor is one, a store that keeps the largest probabilities another."""

    def __getitem__(self, index: Tensor, /) -> Tensor: ...


class Judgment(NamedTuple):
    """What is thought of the given labels.

    Attributes:
        suggested: shape (N,), the class that was predicted most.
        quality: shape (N,), from 0, surely wrong, to 1, surely right; NaN for a sample without a label.
        wrong: shape (N,) bool, the suggested class is not the given one.
    """

    suggested: Tensor
    quality: Tensor
    wrong: Tensor


def judge(given: Tensor, predictions: Rows, weights: Tensor | None = None) -> Judgment:
    """How far each given label can be believed.

        quality = 1 - (1 - weight) (1 + p_other - p_given) / 2,        p_other: of the likeliest other class

    A label is doubted as far as the model preferred another one, and as far as the weighting function did not trust it:
    each sees what the other misses. Predictions are best averaged along training, since in the end a model may have
    memorized wrong labels too.

    Args:
        given: shape (N,), the given labels; -1 has none.
        predictions: of each sample, shape (N, num_classes), rows sum to one.
        weights: shape (N,), in [0, 1], the mean weight of each sample along training; NaN where it never had one.
            None: by predictions alone.
    """
    trust = torch.zeros(len(given)) if weights is None else weights.nan_to_num(0.0).clamp(0, 1).float()
    suggested, quality = [], []
    for index in torch.arange(len(given)).split(CHUNK):
        rows = predictions[index].float()
        own = given[index].clamp_min(0).unsqueeze(1)
        believed = rows.gather(1, own).squeeze(1)
        other = rows.scatter(1, own, -1.0).max(1).values
        suggested.append(rows.argmax(1))
        quality.append(1 - (1 - trust[index]) * (1 + other - believed) / 2)
    likeliest, labeled = torch.cat(suggested), given >= 0
    qualities = torch.where(labeled, torch.cat(quality).clamp(0, 1), float("nan"))
    return Judgment(likeliest, qualities, labeled & (likeliest != given))


def likeliest_candidates(candidates: Tensor, predictions: Rows) -> Tensor:
    """The candidate of each sample that was predicted most, shape (N,).

    Args:
        candidates: shape (N, num_classes) bool, one or more in each row.
        predictions: see ``judge``.
    """
    chunks = torch.arange(len(candidates)).split(CHUNK)
    return torch.cat([predictions[index].float().where(candidates[index], -1.0).argmax(1) for index in chunks])


def label_issues(
    given: Tensor,
    predictions: Rows,
    weights: Tensor | None,
    family: Tensor | None,
    class_names: Sequence[object],
    judgment: Judgment | None = None,
) -> "pd.DataFrame":
    """A row a sample, the worst label first.

    Args:
        given: shape (N,), the given labels; -1 has none.
        predictions: see ``judge``.
        weights: see ``judge``.
        family: shape (N,), of the given class; 0 is the rarest classes.
        class_names: what the labels are called in the table.
        judgment: what is thought of the labels; otherwise ``judge`` says it.

    Returns:
        The columns index, given_label, suggested_label, label_quality, weight, family and is_label_issue: whether the
        suggested label differs from the given one. Samples without a label come last; their given label is -1, or
        missing where classes are no numbers.
    """
    import numpy as np
    import pandas as pd

    suggested, quality, wrong = judgment or judge(given, predictions, weights)
    names = pd.Series(list(class_names))
    given_names = names.take(given.clamp_min(0).numpy()).to_numpy(copy=True)
    if bool((given < 0).any()):
        numbers = pd.api.types.is_numeric_dtype(names) and not pd.api.types.is_bool_dtype(names)
        given_names = given_names if numbers else given_names.astype(object)
        given_names[(given < 0).numpy()] = -1 if numbers else None
    table = pd.DataFrame(
        {
            "index": np.arange(len(given)),
            "given_label": given_names,
            "suggested_label": names.take(suggested.numpy()).to_numpy(),
            "label_quality": quality.numpy(),
            "weight": np.nan if weights is None else weights.numpy(),
            "family": pd.array([pd.NA] * len(given) if family is None else family.numpy(), dtype="Int64"),
            "is_label_issue": wrong.numpy(),
        }
    )
    return table.sort_values("label_quality", kind="stable", ignore_index=True)

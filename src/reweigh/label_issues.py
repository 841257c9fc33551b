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
        quality: shape (N,), from 0, surely wrong, to 1, surely right.
    """

    suggested: Tensor
    quality: Tensor


def judge(given: Tensor, predictions: Rows, weights: Tensor | None = None) -> Judgment:
    """How far each given label can be believed.

        quality = 1 - (1 - weight) (1 + p_other - p_given) / 2,        p_other: of the likeliest other class

    A label is doubted as far as the model preferred another one, and as far as the weighting function did not trust it:
    each sees what the other misses. Predictions are best averaged along training, since in the end a model may have
    memorized wrong labels too.

    Args:
        given: shape (N,), the given labels.
        predictions: of each sample, shape (N, num_classes), rows sum to one.
        weights: shape (N,), in [0, 1], the mean weight of each sample along training; NaN where it never had one.
            None: by predictions alone.
    """
    trust = torch.zeros(len(given)) if weights is None else weights.nan_to_num(0.0).clamp(0, 1).float()
    suggested, quality = [], []
    for index in torch.arange(len(given)).split(CHUNK):
        rows = predictions[index].float()
        own = given[index].unsqueeze(1)
        believed = rows.gather(1, own).squeeze(1)
        other = rows.scatter(1, own, -1.0).max(1).values
        suggested.append(rows.argmax(1))
        quality.append(1 - (1 - trust[index]) * (1 + other - believed) / 2)
    return Judgment(torch.cat(suggested), torch.cat(quality).clamp(0, 1))


def label_issues(
    given: Tensor,
    predictions: Rows,
    weights: Tensor | None,
    family: Tensor | None,
    class_names: Sequence[object],
) -> "pd.DataFrame":
    """A row a sample, the worst label first.

    Args:
        given: shape (N,), the given labels.
        predictions: see ``judge``.
        weights: see ``judge``.
        family: shape (N,), of the given class; 0 is the rarest classes.
        class_names: what the labels are called in the table.

    Returns:
        The columns index, given_label, suggested_label, label_quality, weight, family and is_label_issue: whether the
        suggested label differs from the given one.
    """
    import numpy as np
    import pandas as pd

    suggested, quality = judge(given, predictions, weights)
    names = pd.Series(list(class_names))
    table = pd.DataFrame(
        {
            "index": np.arange(len(given)),
            "given_label": names.take(given.numpy()).to_numpy(),
            "suggested_label": names.take(suggested.numpy()).to_numpy(),
            "label_quality": quality.numpy(),
            "weight": np.nan if weights is None else weights.numpy(),
            "family": pd.array([pd.NA] * len(given) if family is None else family.numpy(), dtype="Int64"),
            "is_label_issue": (suggested != given).numpy(),
        }
    )
    return table.sort_values("label_quality", kind="stable", ignore_index=True)

"""What training found out about each sample, and the table of suspicious labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Samples:
    """What training found out about each sample; all of shape (N,).

    Attributes:
        given: The given label, -1 for none; if there are several candidates, the likeliest.
        suggested: The class that training suggests.
        quality: How credible the given label is, from 0 to 1; NaN if it was not judged.
        wrong: Whether the given label looks wrong.
        losses: Loss of the given label under the final network; NaN if unknown.
        weights: Mean weight during training; NaN for a sample never weighed, None if the method has no weights.
        family: Family of the sample's class; 0 is the rarest. None if the method has no families.
        outlier: Whether the sample belongs to no class; None if outliers were not searched for.
        near_duplicate_of: Index of a sample that is nearly the same, -1 for none; test samples are numbered on after
            the training samples. None if not searched for.
    """

    given: Tensor
    suggested: Tensor
    quality: Tensor
    wrong: Tensor
    losses: Tensor
    weights: Tensor | None = None
    family: Tensor | None = None
    outlier: Tensor | None = None
    near_duplicate_of: Tensor | None = None

    def among(self, rows: Tensor, suggested: Tensor) -> "Samples":
        """The samples as some rows of a larger table; the other rows have no label.

        Args:
            rows: Shape (n,), the row of each of these samples.
            suggested: Shape (N,), the class of each row of the table, if it has no label.
        """

        def spread(values: Tensor | None, empty: float) -> Tensor | None:
            if values is None:
                return None
            return values.new_full((len(suggested),), empty).index_copy(0, rows, values)

        near = self.near_duplicate_of
        if near is not None:
            near = torch.where(near >= 0, rows[near.clamp_min(0)], -1)
        filled: Any = {"given": -1, "quality": torch.nan, "wrong": 0, "losses": torch.nan, "weights": torch.nan}
        filled |= {"family": 0, "outlier": 0}
        return replace(
            self,
            suggested=suggested.index_copy(0, rows, self.suggested),
            near_duplicate_of=spread(near, -1),
            **{name: spread(getattr(self, name), empty) for name, empty in filled.items()},
        )

    def label_issues(self, class_names: Sequence[object], index: "pd.Index | None" = None) -> "pd.DataFrame":
        """One row per sample, the worst label first.

        Args:
            class_names: Names of the labels in the table.
            index: Names of the samples, such as the index of the user's own table; by default 0, 1, ...

        Returns:
            The columns given_label, suggested_label, label_quality, weight, family and is_label_issue; if neighbors
            were compared, also is_outlier and near_duplicate_of, which refers to the index of the table. Samples
            without a label come last; their given label is -1, or missing if classes are not numbers.
        """
        import numpy as np
        import pandas as pd

        classes = pd.Series(list(class_names))
        table = pd.DataFrame(
            {
                "given_label": self._given_names(classes),
                "suggested_label": classes.take(self.suggested.numpy()).to_numpy(),
                "label_quality": self.quality.numpy(),
                "weight": np.nan if self.weights is None else self.weights.numpy(),
                "family": pd.array(
                    [pd.NA] * len(self.given) if self.family is None else self.family.numpy(), dtype="Int64"
                ),
                "is_label_issue": self.wrong.numpy(),
            },
            index=index,
        )
        if self.outlier is not None and self.near_duplicate_of is not None:
            rows, others = table.index.tolist(), self.near_duplicate_of.tolist()
            table["is_outlier"] = self.outlier.numpy()
            table["near_duplicate_of"] = [rows[other] if 0 <= other < len(rows) else None for other in others]
        return table.sort_values("label_quality", kind="stable")

    def _given_names(self, names: "pd.Series") -> object:
        import pandas as pd

        found = names.take(self.given.clamp_min(0).numpy()).to_numpy(copy=True)
        missing = (self.given < 0).numpy()
        if missing.any():
            numbers = pd.api.types.is_numeric_dtype(names) and not pd.api.types.is_bool_dtype(names)
            found = found if numbers else found.astype(object)
            found[missing] = -1 if numbers else None
        return found

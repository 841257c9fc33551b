"""Predictions, losses and weights of each sample along training: evidence for suspicious labels and easy samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.core.method import Stateful
from reweigh.errors import DataError
from reweigh.issues import Samples, verdict_of
from reweigh.pseudo_labels import predictions
from reweigh.reweighter.inputs import logits_of

if TYPE_CHECKING:
    import pandas as pd


class Journal(Stateful):
    """The mean, over all records, of what was predicted for each sample, of its loss and of its weight.

    Early predictions know little, late ones may have memorized wrong labels; their mean is better than either.

    Args:
        labels: Shape (N,), given labels; -1 for none.
        num_classes: Number of classes.
    """

    state = ("_predictions", "_counts", "_loss", "_weight")

    def __init__(self, labels: Tensor, num_classes: int):
        self._labels, self._num_classes = labels, num_classes
        self._predictions = predictions(labels, num_classes, 0.0)
        self._counts = torch.zeros(len(labels))
        self._loss = torch.full((len(labels),), torch.nan)
        self._weight = torch.full((len(labels),), torch.nan)

    @property
    def losses(self) -> Tensor:
        """The mean cross-entropy of each given label, shape (N,); NaN before the first record or without a label."""
        return self._loss

    def record(self, index: Tensor, outputs: Any, weights: Tensor | None) -> None:
        """Note what the model returned for some samples, and their weights, if any.

        A sample may occur several times, as with a sampler that repeats rare classes: each time is a record.

        Raises:
            DataError: The three do not have one entry per sample, or an index is out of range.
        """
        logits = logits_of(outputs).detach().float().cpu()
        n = len(logits)
        index = index.cpu().nonzero().flatten() if index.dtype is torch.bool else index.cpu()
        weights = torch.full((n,), torch.nan) if weights is None else weights.detach().float().cpu()
        if logits.shape != (n, self._num_classes):
            raise DataError(
                f"outputs: logits of shape {tuple(logits.shape)}; one row per sample with {self._num_classes} classes "
                "is needed"
            )
        if index.shape != (n,) or weights.shape != (n,):
            raise DataError(
                f"index of shape {tuple(index.shape)} and weights of shape {tuple(weights.shape)} for {n} samples; "
                "pass one of each per sample"
            )
        low, high = (int(index.min()), int(index.max())) if n else (0, 0)
        if low < 0 or high >= len(self._labels):
            raise DataError(
                f"index: positions in the training set, 0 to {len(self._labels) - 1}, are needed; got {low} to {high}"
            )
        given = self._labels[index]
        losses = F.cross_entropy(logits, given, reduction="none", ignore_index=-1)
        losses, probabilities = torch.where(given >= 0, losses, torch.nan), logits.softmax(1)
        index, place, times = index.unique(return_inverse=True, return_counts=True)
        losses, weights, probabilities = (_means(each, place, times) for each in (losses, weights, probabilities))
        self._counts[index] += times
        share = times / self._counts[index]
        self._predictions.restart(index, torch.lerp(self._predictions[index], probabilities, share[:, None]))
        self._loss[index] = _mean(self._loss[index], losses, share)
        self._weight[index] = _mean(self._weight[index], weights, share)

    def issues(self, families: Tensor, class_names: Sequence[object] | None, index: Any) -> "pd.DataFrame":
        """The samples, the most suspicious label first; see ``Reweighter.label_issues``."""
        if class_names is not None and len(class_names) != self._num_classes:
            raise DataError(
                f"class_names: {len(class_names)} names for {self._num_classes} classes; pass one per class"
            )
        if index is not None and len(index) != len(self._labels):
            raise DataError(f"index: {len(index)} entries for {len(self._labels)} samples; pass one per sample")
        seen = self._counts > 0
        if not seen.any():
            raise DataError("nothing was recorded: call reweighter.record(index, outputs, weights) after each step")
        verdict = verdict_of(torch.where(seen, self._labels, -1), self._predictions)
        return Samples(
            given=self._labels,
            suggested=verdict.suggested,
            quality=verdict.quality,
            wrong=verdict.wrong,
            losses=self._loss,
            weights=self._weight,
            family=families[self._labels.clamp_min(0)],
        ).label_issues(range(self._num_classes) if class_names is None else class_names, index)


class Recording:
    """Gives a reweighter its methods ``record`` and ``label_issues``."""

    families: Any
    _given: Tensor
    _num_classes: int
    _journal: Journal | None = None

    def record(self, index: Any, outputs: Any, weights: Any = None) -> None:
        """Note what the model returned for some training samples, for ``losses`` and ``label_issues``.

            step = reweighter.step(inputs[batch], labels[batch], ...)
            reweighter.record(batch, step.outputs, step.weights)

        Args:
            index: Shape (n,), positions of the samples in the labels that the reweighter was made with.
            outputs: Logits, shape (n, num_classes), or something with ``logits``.
            weights: Shape (n,), the weights that were trained with; None if there were none.
        """
        found = None if weights is None else torch.as_tensor(weights)
        self._noted.record(torch.as_tensor(index), outputs, found)

    @property
    def losses(self) -> Tensor:
        """The mean loss of each given label over all records, shape (N,); NaN where there is none yet."""
        return self._noted.losses

    def label_issues(self, class_names: Sequence[object] | None = None, index: Any = None) -> "pd.DataFrame":
        """The training samples, the most suspicious label first, judged by all that was recorded.

        Args:
            class_names: What the classes are called in the table; by default their numbers.
            index: Index of the table, one entry per training sample; by default 0, 1, ...

        Returns:
            The columns given_label, suggested_label, label_quality (0 is worst, NaN where nothing was recorded),
            weight, family and is_label_issue.
        """
        return self._noted.issues(self.families.of_class, class_names, index)

    def _load_records(self, state: dict[str, Any]) -> None:
        """Restore the records in the state of a reweighter; a DataError if they are of other samples or classes."""
        journal, classes, own = state.get("journal"), len(state["family_of_class"]), len(self._given)
        samples = own if journal is None else len(journal["counts"])
        if (samples, classes) != (own, self._num_classes):
            raise DataError(
                f"state: {samples} samples in {classes} classes, but this reweighter has {own} in {self._num_classes}; "
                "make it with the labels of the training set that the state comes from"
            )
        if journal is not None:
            self._noted.load_state_dict(journal)

    @property
    def _noted(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self._given, self._num_classes)
        return self._journal


def _means(values: Tensor, place: Tensor, times: Tensor) -> Tensor:
    """The mean of the values that belong to each of some samples.

    Args:
        place: Shape (n,), the sample of each value.
        times: Shape (samples,), how many values each has.
    """
    total = values.new_zeros(len(times), *values.shape[1:]).index_add_(0, place, values)
    return total / times.view(-1, *[1] * (values.dim() - 1))


def _mean(before: Tensor, new: Tensor, share: Tensor) -> Tensor:
    """The running mean with one value more; the value itself where there was none."""
    return torch.where(before.isnan(), new, torch.where(new.isnan(), before, torch.lerp(before, new, share)))

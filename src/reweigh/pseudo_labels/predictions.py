"""Running averages of what the model predicts for each training sample: temporal ensembling."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from reweigh.errors import DataError

FULL_AT_MOST = 2_000_000  # numbers in single precision; 8 MB
DENSE_AT_MOST = 20_000_000  # numbers in half precision; 40 MB


class Predictions(ABC):
    """A soft label for each training sample, keyed by its index and started from the given labels.

    Attributes:
        momentum: Momentum of the average; 0 keeps only the latest prediction. May be changed during training. Paper:
            alpha.

    Args:
        stored: Tensors that hold the averages, one row per sample. They should be on the device of the predictions, so
            that updates need not wait for a copy.
    """

    def __init__(self, momentum: float, **stored: Tensor):
        self.momentum, self._stored = momentum, stored
        first = next(iter(stored.values()))
        self._samples, self._device = len(first), first.device

    def update(self, index: Tensor, probabilities: Tensor) -> Tensor:
        """Update the averages of some samples with new predictions, and return them.

            z = momentum * z + (1 - momentum) * probabilities                (paper: supplement, Alg. 1)

        Args:
            index: Shape (n,), indices into the training set, each at most once.
            probabilities: Shape (n, num_classes), rows sum to one.

        Returns:
            Shape (n, num_classes), rows sum to one.
        """
        index = _checked(index, self._samples, len(probabilities))
        rows = torch.lerp(probabilities.float().to(self._device), self[index], self.momentum)
        self.restart(index, rows)
        return rows.to(probabilities)

    @abstractmethod
    def restart(self, index: Tensor, probabilities: Tensor) -> None:
        """Restart the averages of some samples from these predictions; shapes (n,) and (n, num_classes)."""

    @abstractmethod
    def __getitem__(self, index: Tensor) -> Tensor:
        """The averages of some samples in single precision, shape (n, num_classes), rows sum to one."""

    @abstractmethod
    def labels(self) -> Tensor:
        """The likeliest class of each sample, shape (N,)."""

    def state_dict(self) -> dict[str, Tensor]:
        return dict(self._stored)

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._stored = {name: state[name].to(self._device, copy=True) for name in self._stored}


class DensePredictions(Predictions):
    """All probabilities of all samples.

    Args:
        labels: Shape (N,), given labels; samples without a label, -1, start with equal probabilities.
        num_classes: Number of classes. Paper: C.
        momentum: Momentum of the average.
        device: Where they are kept.
        dtype: Type in which they are kept.
    """

    def __init__(
        self,
        labels: Tensor,
        num_classes: int,
        momentum: float,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ):
        rows = torch.zeros(len(labels), num_classes, dtype=dtype).scatter_(1, labels.clamp_min(0)[:, None], 1.0)
        rows[labels < 0] = 1 / num_classes
        super().__init__(momentum, rows=rows.to(device))

    def restart(self, index: Tensor, probabilities: Tensor) -> None:
        rows = self._stored["rows"]
        rows[index.cpu()] = probabilities.to(rows)

    def __getitem__(self, index: Tensor) -> Tensor:
        rows = self._stored["rows"][index]
        if rows.dtype is torch.float32:
            return rows
        rows = rows.float()
        return rows / rows.sum(1, keepdim=True)

    def labels(self) -> Tensor:
        return self._stored["rows"].argmax(1).cpu()


class TopPredictions(Predictions):
    """The largest probabilities of each sample in half precision; the other classes share the rest equally.

    A million samples of a thousand classes take 40 MB instead of 4 GB. Arguments are those of ``DensePredictions``.

    Args:
        keep: Number of probabilities to keep for each sample.
    """

    def __init__(
        self, labels: Tensor, num_classes: int, momentum: float, device: torch.device | str = "cpu", keep: int = 10
    ):
        self._num_classes = num_classes
        keep = min(keep, num_classes)
        values = torch.zeros(len(labels), keep, dtype=torch.float16)
        values[:, 0] = 1
        values[labels < 0] = 1 / num_classes
        # distinct classes in each row, the given label first
        classes = (labels[:, None] + torch.arange(keep)) % num_classes
        classes = classes.to(torch.int16 if num_classes <= 2**15 else torch.int32)
        super().__init__(momentum, values=values.to(device), classes=classes.to(device))

    def restart(self, index: Tensor, probabilities: Tensor) -> None:
        values, classes = self._stored.values()
        top = probabilities.float().to(self._device).topk(values.shape[1], dim=1)
        values[index.cpu()], classes[index.cpu()] = top.values.half(), top.indices.to(classes.dtype)

    def __getitem__(self, index: Tensor) -> Tensor:
        values, classes = self._stored["values"][index].float(), self._stored["classes"][index].long()
        others = self._num_classes - values.shape[1]
        left = (1 - values.sum(1, keepdim=True)).clamp_min(0) / max(others, 1)
        rows = left.expand(-1, self._num_classes).scatter(1, classes, values)
        return rows / rows.sum(1, keepdim=True)

    def labels(self) -> Tensor:
        values, classes = self._stored.values()
        return classes.gather(1, values.argmax(1, keepdim=True)).squeeze(1).long().cpu()


def _checked(index: Tensor | None, samples: int, n: int) -> Tensor:
    """The indices of some samples, on the CPU; a DataError unless they are indices into the training set."""
    if index is None:
        raise DataError(
            "temporal ensembling averages the predictions for each sample, so it needs the index of each sample in the "
            "training set; let the dataset return it as index, or predict again in every step"
        )
    index = index.cpu()
    if index.shape != (n,) or (n and not 0 <= int(index.min()) <= int(index.max()) < samples):
        raise DataError(
            f"index: {n} indices from 0 to {samples - 1} are needed, one for each sample of the batch; "
            f"got shape {tuple(index.shape)} from {int(index.min())} to {int(index.max())}"
        )
    return index


def predictions(labels: Tensor, num_classes: int, momentum: float, device: torch.device | str = "cpu") -> Predictions:
    """The store that suits the size of the problem."""
    numbers = len(labels) * num_classes
    if numbers > DENSE_AT_MOST:
        return TopPredictions(labels, num_classes, momentum, device)
    dtype = torch.float32 if numbers <= FULL_AT_MOST else torch.float16
    return DensePredictions(labels, num_classes, momentum, device, dtype)

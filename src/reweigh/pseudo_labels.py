"""Pseudo-labels: the averaged model, averaged predictions of each sample, and mixup."""


# pyright: reportPrivateImportUsage=false

import copy
from abc import ABC, abstractmethod
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from reweigh.core.method import Stateful
from reweigh.errors import DataError


class AveragedModel(Stateful):
    """Exponential moving average of parameters and BatchNorm statistics. Paper: w_WA.

    It has bias correction: after t steps, it is exactly the weighted mean of the t models so far, where each step back
    counts less by a factor of ``decay``. So it is useful from the first step on, and the initial model leaves no trace.

    Args:
        model: Model to average; a copy is kept.
        decay: Decay of the EMA; 0.997 averages over the last few hundred steps, and 1 never changes. May be changed
            during training. Paper: beta.
    """

    state = ("model", "_mass", "decay")

    def __init__(self, model: nn.Module, decay: float = 0.997):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.decay = decay
        self._mass = 0.0  # total weight of all models so far; what bias correction divides by

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Update the average by the current model; counters and other integers are copied."""
        self._mass = self.decay * self._mass + (1 - self.decay)
        if self.decay == 1:
            return
        share = (1 - self.decay) / self._mass
        pairs = list(zip(_tensors(self.model), _tensors(model), strict=True))
        floats = [pair for pair in pairs if pair[0].dtype.is_floating_point]
        torch._foreach_lerp_([mine for mine, _ in floats], [its for _, its in floats], share)
        for mine, its in pairs:
            if not mine.dtype.is_floating_point:
                mine.copy_(its)


def _tensors(model: nn.Module) -> list[Tensor]:
    """Parameters and buffers, each once; torch's own iterators also make their names, which takes longer."""
    found: dict[int, Tensor] = {}
    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            found |= {id(tensor): tensor for tensor in tensors.values() if tensor is not None}
    return list(found.values())


@torch.no_grad()
def predicted_in_training(model: nn.Module, inputs: Tensor) -> Tensor:
    """Probabilities, shape (n, num_classes), with dropout and the BatchNorm statistics of the batch.

    This forward pass does not change the running statistics, which are averages of those of the model.
    """
    model.train()
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    return functional_call(model, buffers, (inputs,)).softmax(1)


Share = TypeVar("Share", bound=float | Tensor)


class Mix(NamedTuple, Generic[Share]):
    """Which samples are mixed, and how much.

    Attributes:
        partner: Shape (n,), a permutation of the batch. Paper: idx.
        share: Share of the sample itself, at least one half: one number for all samples, or shape (n,). Paper: lambda =
            max(lambda, 1 - lambda).
    """

    partner: Tensor
    share: Share

    def inputs(self, inputs: Tensor) -> Tensor:
        """The mixed inputs, shape as given."""
        share: float | Tensor = self.share
        if isinstance(share, Tensor):
            share = share.to(inputs).view(-1, *[1] * (inputs.dim() - 1))
        return share * inputs + (1 - share) * inputs[self.partner]

    def labels(self, labels: Tensor, num_classes: int) -> Tensor:
        """The mixed labels as rows that sum to one, shape (n, num_classes)."""
        if labels.dim() == 1:  # (``one_hot`` reads the labels to check them, and so waits for the device)
            rows = torch.zeros(len(labels), num_classes, device=labels.device)
            labels = rows.scatter_(1, labels[:, None], 1.0)
        return self.inputs(labels)


def draw(n: int, strength: float, generator: torch.Generator, device: torch.device | str = "cpu") -> Mix[float]:
    """A random mix with one lambda ~ Beta(strength, strength) for all samples.

    Args:
        strength: Strength of mixing: close to 0, samples are hardly mixed; 1 draws lambda uniformly; very large values
            mix half and half.
    """
    share = float(_shares(strength, generator, 1)[0])
    return Mix(torch.randperm(n, generator=generator).to(device), share)


def draw_each(n: int, strength: float, generator: torch.Generator, device: torch.device | str = "cpu") -> Mix[Tensor]:
    """A random mix with a separate lambda for each sample."""
    share = torch.from_numpy(_shares(strength, generator, n)).to(device)
    return Mix(torch.randperm(n, generator=generator).to(device), share)


def _shares(strength: float, generator: torch.Generator, n: int) -> np.ndarray:
    seed = int(torch.randint(2**62, (), generator=generator).numpy())  # torch's Beta takes no generator, NumPy's does
    drawn = np.random.default_rng(seed).beta(strength, strength, n)
    return np.maximum(drawn, 1 - drawn)


def check_mixable(inputs: Tensor, strength: float) -> None:
    """Raise a DataError if inputs are to be mixed that are not floats."""
    if strength and not inputs.is_floating_point():
        raise DataError(f"mixup cannot mix inputs of {inputs.dtype}; set method.mixup = 0")


def checked_draw(inputs: Tensor, strength: float, generator: torch.Generator) -> Mix[float]:
    """A random mix of a batch of floats, as ``draw`` makes it; a strength of 0 leaves every sample as it is."""
    check_mixable(inputs, strength)
    if not strength:
        return Mix(torch.arange(len(inputs), device=inputs.device), 1.0)
    return draw(len(inputs), strength, generator, inputs.device)


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

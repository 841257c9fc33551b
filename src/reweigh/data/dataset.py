"""The one dataset type: raw inputs, the given labels, and how to turn a few of them into a batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.data.normalize import as_float, unchanged


class Inputs(Protocol):
    """Raw inputs fetched by a tensor of indices: a plain tensor is one, a folder of images read as needed another.

    An empty index gives shape (0, ...), so that the shape of a sample is known without reading one.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, index: Tensor, /) -> Tensor: ...


def is_image(shape: Sequence[int]) -> bool:
    """Whether a sample of this shape is an image: (channels, height, width)."""
    return len(shape) == 3


class Rows:
    """Some rows of inputs that are not in memory, fetched through the inputs themselves."""

    def __init__(self, inputs: Inputs, index: Tensor) -> None:
        self.inputs = inputs
        self.index = index

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        return self.inputs[self.index[index]]


@dataclass(frozen=True)
class Reading:
    """What a reader has to tell about the source, beyond the samples.

    Attributes:
        names: what each sample is called in the source (a file name), by ``Dataset.origin``; empty if it has no name.
        skipped: what could not be read and was left out, each with the reason.
        missing: how many values were missing and filled, by column.
        encoding: how the columns of a table became features (``data.encoding.Encoding``), for use on another.
    """

    names: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    encoding: Any = None


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples with their given labels.

    Attributes:
        inputs: raw; uint8 images (N, C, H, W), float images, or float features (N, D).
        labels: shape (N,) int64, the GIVEN labels, right or wrong; -1 has none.
        class_names: of class 0, 1, ...
        true_labels: shape (N,), where they are known; for judging only.
        normalize: raw or [0, 1] batch -> float batch for the model.
        sample_weight: shape (N,), how much each sample counts; None counts all the same.
        soft_labels: shape (N, num_classes), rows that sum to one; batches carry them in place of ``labels``, which are
            then the likeliest.
        candidates: shape (N, num_classes) bool, several labels a sample, one of them right; batches carry rows that are
            uniform over them, and ``labels`` are one of each (``data.candidates``).
        origin: shape (N,), the place of each sample in what was read; a subset keeps it. None: 0, 1, ..., N - 1.
        reading: what the reader left out or filled in.
    """

    inputs: Inputs
    labels: Tensor
    class_names: tuple[str, ...]
    true_labels: Tensor | None = None
    normalize: Callable[[Tensor], Tensor] = unchanged
    sample_weight: Tensor | None = None
    soft_labels: Tensor | None = None
    candidates: Tensor | None = None
    origin: Tensor | None = None
    reading: Reading = Reading()

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Dataset({len(self)} samples of shape {self.shape}, {self.num_classes} classes)"

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample: (C, H, W) or (D,)."""
        return tuple(self.inputs[torch.empty(0, dtype=torch.int64)].shape[1:])

    @property
    def stores_bytes(self) -> bool:
        """Whether raw values are bytes, as those of most images; a batch has them divided by 255."""
        return self.inputs[torch.empty(0, dtype=torch.int64)].dtype == torch.uint8

    @property
    def is_images(self) -> bool:
        """Whether the samples are images."""
        return is_image(self.shape)

    @property
    def class_sizes(self) -> Tensor:
        """Samples of each class by given label, shape (num_classes,); those without one do not count. Paper: N_i."""
        return torch.bincount(self.labels[self.labeled], minlength=self.num_classes)

    @property
    def labeled(self) -> Tensor:
        """Which samples have a label, shape (N,) bool."""
        return self.labels >= 0

    def batch(
        self,
        index: Tensor,
        augment: Callable[[Tensor, torch.Generator], Tensor] | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str = "cpu",
    ) -> Batch:
        """The samples at ``index``, augmented in [0, 1] (bytes) or as they are (floats), then normalized.

        Args:
            index: shape (n,), places in this dataset.
            augment: float batch and generator -> float batch.
            generator: the randomness of ``augment``; torch's global one by default.
        """
        inputs = as_float(self.inputs[index])
        if augment is not None:
            inputs = augment(inputs, torch.default_generator if generator is None else generator)
        weights = None if self.sample_weight is None else self.sample_weight[index].to(device)
        return Batch(self.normalize(inputs).to(device), self._labels_at(index).to(device), index.to(device), weights)

    def _labels_at(self, index: Tensor) -> Tensor:
        """Class numbers, shape (n,), or rows that sum to one, shape (n, num_classes)."""
        if self.candidates is not None:
            rows = self.candidates[index].float()
            return rows / rows.sum(1, keepdim=True)
        return (self.labels if self.soft_labels is None else self.soft_labels)[index]

    def subset(self, index: Tensor) -> "Dataset":
        """The samples at ``index`` (places or a boolean mask), in that order."""
        if index.dtype == torch.bool:
            index = index.nonzero().squeeze(1)
        return replace(
            self,
            inputs=self.inputs[index] if isinstance(self.inputs, Tensor) else Rows(self.inputs, index),
            labels=self.labels[index],
            true_labels=None if self.true_labels is None else self.true_labels[index],
            sample_weight=None if self.sample_weight is None else self.sample_weight[index],
            soft_labels=None if self.soft_labels is None else self.soft_labels[index],
            candidates=None if self.candidates is None else self.candidates[index],
            origin=index if self.origin is None else self.origin[index],
        )

    def with_labels(self, labels: Tensor) -> "Dataset":
        """The same inputs with other given labels; the labels before stay as the true ones, unless those were known."""
        true_labels = self.labels if self.true_labels is None else self.true_labels
        return replace(self, labels=labels, true_labels=true_labels, soft_labels=None, candidates=None)


class Splits(NamedTuple):
    """What is trained on and what is judged on."""

    train: Dataset
    test: Dataset

"""The one dataset type: raw inputs, given labels, and how they become batches."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from reweigh.core.objective import Batch
from reweigh.core.sparse import CandidateSets
from reweigh.data.inputs import Inputs, ahead, drawn, is_image, rows_of
from reweigh.data.normalize import as_float
from reweigh.files.seals import checksum
from reweigh.issues.votes import Votes

if TYPE_CHECKING:
    from reweigh.data.source import Source

SAMPLES_AT_ONCE = 1000  # samples whose predictions are made together, at most
VALUES_AT_ONCE = 5_000_000  # values of their inputs or outputs; 33 color images of 224 x 224 pixels
PER_SAMPLE = ("true_labels", "sample_weight", "soft_labels", "trusted", "uncorrected", "groups", "votes")
SMALL_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32)


@dataclass(frozen=True)
class Reading:
    """What a reader found out about the source, apart from the samples.

    Attributes:
        names: Name of each sample in the source (a file name), indexed by ``Dataset.origin``; empty if they have none.
        skipped: What could not be read and was left out, each with the reason.
        missing: Number of missing values that were filled, by column.
        encoding: How the columns of a table became features (``data.tables.encoding.Encoding``), for other tables.
        source: The user's files that the samples were read from; None for arrays and named datasets.
    """

    names: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    encoding: Any = None
    source: "Source | None" = None


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples with their given labels.

    Attributes:
        inputs: Raw inputs: uint8 images (N, C, H, W), float images, or float features (N, D).
        labels: The GIVEN labels, right or wrong, shape (N,), any integer type, stored as int64; -1 means no label.
        class_names: Name of class 0, 1, ...
        true_labels: True labels where they are known, shape (N,); for evaluation only.
        normalize: Raw or [0, 1] batch -> float batch for the model.
        sample_weight: How much each sample counts, shape (N,); None counts all the same.
        soft_labels: Rows that sum to one, shape (N, num_classes); batches carry them instead of ``labels``, which are
            then the likeliest classes.
        candidates: Several possible labels per sample, one of them right; batches carry rows that are uniform over
            them, and ``labels`` hold one of each (``data.labels.candidates``). A mask, shape (N, num_classes) bool, is
            stored as sets.
        trusted: Samples whose label a person has checked, shape (N,) bool; None if nobody checked any.
        uncorrected: The labels before a person corrected some, shape (N,); None if nobody did.
        groups: Number of the group of each sample, shape (N,); no split parts samples of a group, such as copies or
            photos of one patient. None if all are free.
        votes: Labels by several labelers; ``labels`` are then their consensus. None if there is one label per sample.
        origin: Index of each sample in what was read, shape (N,); a subset keeps it. None means 0, 1, ..., N - 1.
        reading: What the reader left out or filled in.
        mirrored: The same samples mirrored, if they are features of images; an augmented batch has either, drawn.
        distorted: Likewise, strongly distorted; for methods that compare such views with the samples.
    """

    inputs: Inputs
    labels: Tensor
    class_names: tuple[str, ...]
    true_labels: Tensor | None = None
    normalize: Callable[[Tensor], Tensor] = as_float
    sample_weight: Tensor | None = None
    soft_labels: Tensor | None = None
    candidates: CandidateSets | None = None
    trusted: Tensor | None = None
    uncorrected: Tensor | None = None
    groups: Tensor | None = None
    votes: Votes | None = None
    origin: Tensor | None = None
    reading: Reading = Reading()
    mirrored: Inputs | None = None
    distorted: tuple[Inputs, ...] = ()

    def __post_init__(self) -> None:
        for name in ("labels", "true_labels"):
            labels = getattr(self, name)
            if labels is not None and labels.dtype in SMALL_INTEGERS:
                object.__setattr__(self, name, labels.long())
        if isinstance(self.candidates, Tensor) and self.candidates.dtype == torch.bool and self.candidates.ndim == 2:
            object.__setattr__(self, "candidates", CandidateSets.of_mask(self.candidates))

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        samples = "1 sample" if len(self) == 1 else f"{len(self)} samples"
        return f"Dataset({samples} of shape {self.shape}, {self.num_classes} classes)"

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample: (C, H, W) or (D,)."""
        return tuple(self.inputs[torch.empty(0, dtype=torch.int64)].shape[1:])

    @property
    def dtype(self) -> torch.dtype:
        """The type of the raw inputs: uint8 for most images, otherwise float."""
        return self.inputs[torch.empty(0, dtype=torch.int64)].dtype

    @property
    def is_images(self) -> bool:
        """Whether the samples are images."""
        return is_image(self.shape)

    @property
    def chunk(self) -> int:
        """How many samples to predict at once: fewer if they are large or have many classes, to bound the memory."""
        return max(1, min(SAMPLES_AT_ONCE, VALUES_AT_ONCE // max(1, torch.Size(self.shape).numel(), self.num_classes)))

    @property
    def source_rows(self) -> Tensor:
        """The row of each sample in what was read, shape (N,)."""
        return torch.arange(len(self)) if self.origin is None else self.origin

    @property
    def identity(self) -> str:
        """A checksum of the given labels and of the names of the samples, which the order of files decides."""
        names = [self.reading.names[row] for row in self.source_rows.tolist()] if self.reading.names else []
        return checksum(json.dumps([self.labels.tolist(), names]).encode())

    @property
    def class_sizes(self) -> Tensor:
        """Number of samples of each class by given label, shape (num_classes,). Paper: N_i."""
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
        raw: Tensor | None = None,
    ) -> Batch:
        """The samples at ``index``, augmented in [0, 1] (bytes) or as they are (floats), then normalized.

        Args:
            index: Indices into this dataset, shape (n,).
            augment: Float batch and generator -> float batch; before it, samples that have mirror images are mirrored
                half of the time.
            generator: Random generator for ``augment``; torch's global one by default.
            raw: Their raw inputs, if they were read ahead.
        """
        inputs = as_float(self.inputs[index] if raw is None else raw)
        if augment is not None:
            source = torch.default_generator if generator is None else generator
            if self.mirrored is not None:
                inputs = drawn([inputs, self.mirrored[index]], source)
            inputs = augment(inputs, source)
        weights = None if self.sample_weight is None else to_device(self.sample_weight[index], device)
        labels = to_device(self._labels_at(index), device)
        return Batch(to_device(self.normalize(inputs), device), labels, index, weights)

    def batches(
        self,
        indices: Sequence[Tensor],
        augment: Callable[[Tensor, torch.Generator], Tensor] | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str = "cpu",
    ) -> Iterator[Batch]:
        """The batch at each of these indices in turn, see ``batch``; what is not in memory is read ahead."""
        for index, raw in zip(indices, ahead(self.inputs, indices), strict=True):
            yield self.batch(index, augment, generator, device, raw)

    def _labels_at(self, index: Tensor) -> Tensor:
        """Class numbers, shape (n,), or rows that sum to one, shape (n, num_classes)."""
        if self.candidates is not None:
            rows = self.candidates[index].float()
            return rows / rows.sum(1, keepdim=True)
        return (self.labels if self.soft_labels is None else self.soft_labels)[index]

    def subset(self, index: Tensor) -> "Dataset":
        """The samples at ``index`` (indices or a boolean mask), in that order."""
        if index.dtype == torch.bool:
            index = index.nonzero().squeeze(1)
        return replace(
            self,
            inputs=rows_of(self.inputs, index),
            mirrored=None if self.mirrored is None else rows_of(self.mirrored, index),
            distorted=tuple(rows_of(view, index) for view in self.distorted),
            labels=self.labels[index],
            candidates=None if self.candidates is None else self.candidates.subset(index),
            origin=index if self.origin is None else self.origin[index],
            **{name: values[index] for name in PER_SAMPLE if (values := getattr(self, name)) is not None},
        )

    def with_labels(self, labels: Tensor) -> "Dataset":
        """The same inputs with other given labels; the old ones become the true labels, unless these were known."""
        true_labels = self.labels if self.true_labels is None else self.true_labels
        return replace(
            self,
            labels=labels,
            true_labels=true_labels,
            soft_labels=None,
            candidates=None,
            uncorrected=None,
            votes=None,
        )


def to_device(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The tensor on a device; the copy to a GPU does not make the host wait."""
    if torch.device(device).type == "cpu" or tensor.device.type != "cpu":
        return tensor.to(device)
    return (tensor.pin_memory() if torch.cuda.is_available() else tensor).to(device, non_blocking=True)


class Splits(NamedTuple):
    """The samples to train on and those to test on."""

    train: Dataset
    test: Dataset

"""The one dataset type: raw inputs, given labels, how they become batches, and whether they can be trained on."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from reweigh.core.candidates import CandidateSets
from reweigh.core.objective import Batch
from reweigh.data.inputs import Inputs, ahead, as_float, is_image, rows_of
from reweigh.errors import DataError
from reweigh.files.whole import checksum
from reweigh.issues.votes import Votes
from reweigh.names import listed, plural

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
        encoding: How the columns of a table became features (``data.tables.encoding.Encoding``), for other tables.
        source: The user's files that the samples were read from; None for arrays and named datasets.
        sizes: Height and width of each image in its file, indexed like names.
    """

    names: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    encoding: Any = None
    source: "Source | None" = None
    sizes: tuple[tuple[int, int], ...] = ()


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
            augment: Float batch and generator -> float batch.
            generator: Random generator for ``augment``; torch's global one by default.
            raw: Their raw inputs, if they were read ahead.
        """
        inputs = as_float(self.inputs[index] if raw is None else raw)
        if augment is not None:
            inputs = augment(inputs, torch.default_generator if generator is None else generator)
        weights = None if self.sample_weight is None else to_device(self.sample_weight[index], device)
        labels = (self.labels if self.soft_labels is None else self.soft_labels)[index]
        if self.candidates is not None:
            rows = self.candidates[index].float()
            labels = rows / rows.sum(1, keepdim=True)
        labels = to_device(labels, device)
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

    def subset(self, index: Tensor) -> "Dataset":
        """The samples at ``index`` (indices or a boolean mask), in that order."""
        if index.dtype == torch.bool:
            index = index.nonzero().squeeze(1)
        return replace(
            self,
            inputs=rows_of(self.inputs, index),
            labels=self.labels[index],
            candidates=None if self.candidates is None else self.candidates.subset(index),
            origin=index if self.origin is None else self.origin[index],
            **{name: values[index] for name in PER_SAMPLE if (values := getattr(self, name)) is not None},
        )

    def with_labels(self, labels: Tensor) -> "Dataset":
        """The same inputs with other given labels; the old ones become the true labels, unless these were known."""
        true_labels = self.labels if self.true_labels is None else self.true_labels
        forgotten = dict.fromkeys(("soft_labels", "candidates", "uncorrected", "votes"))
        return replace(self, labels=labels, true_labels=true_labels, **forgotten)


def to_device(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The tensor on a device; the copy to a GPU does not make the host wait."""
    if torch.device(device).type == "cpu" or tensor.device.type != "cpu":
        return tensor.to(device)
    return (tensor.pin_memory() if torch.cuda.is_available() else tensor).to(device, non_blocking=True)


class Splits(NamedTuple):
    """The samples to train on and those to test on."""

    train: Dataset
    test: Dataset


log = logging.getLogger(__name__)


def check(dataset: Dataset, what: str = "data") -> Dataset:
    """Return the dataset if it can be trained on: valid samples, at least two classes, no class empty.

    Samples may have no label (-1), or several candidates. Inputs that are not in memory are not read; their reader
    checks them.

    Raises:
        DataError: With every mistake found in labels and inputs.
    """
    raise_all([*sample_mistakes(dataset, lowest=-1), *class_mistakes(dataset)], what)
    if dataset.candidates is not None and (empty := int((dataset.candidates.counts == dataset.num_classes).sum())):
        log.info(
            "%s: %d of %d samples have every class as a candidate, so their labels carry no information",
            what,
            empty,
            len(dataset),
        )
    return dataset


def check_samples(dataset: Dataset, what: str = "data") -> Dataset:
    """Return the dataset if its samples are valid; classes may be empty, as in a test set."""
    raise_all(sample_mistakes(dataset), what)
    return dataset


def raise_all(mistakes: Sequence[str], what: str) -> None:
    """Raise one DataError with all ``mistakes``, if there are any."""
    if len(mistakes) == 1:
        raise DataError(f"{what}: {mistakes[0]}")
    if mistakes:
        raise DataError(f"{what}: {len(mistakes)} mistakes\n" + "\n".join(f"  - {mistake}" for mistake in mistakes))


def sample_mistakes(dataset: Dataset, lowest: int = 0) -> list[str]:
    """What is wrong with single samples: labels of a wrong type or out of range, inputs that are not finite.

    ``lowest`` is the lowest label allowed; -1 allows samples without a label.
    """
    labels = dataset.labels
    if labels.ndim != 1 or labels.dtype != torch.int64:
        return [f"labels: shape {tuple(labels.shape)} of {labels.dtype}; give one int64 per sample, shape (N,)"]
    if len(labels) == 0:
        return ["labels: there are no samples"]
    mistakes = range_mistakes(labels, dataset.num_classes, "labels", lowest)
    if dataset.candidates is not None:
        mistakes += candidate_mistakes(dataset.candidates, len(labels), dataset.num_classes)
    if dataset.true_labels is not None:
        if len(dataset.true_labels) != len(labels):
            mistakes.append(
                f"true labels: {len(dataset.true_labels)} for {plural(len(labels), 'label')}; give one per sample"
            )
        mistakes += range_mistakes(dataset.true_labels, dataset.num_classes, "true labels")
    return mistakes + input_mistakes(dataset.inputs, len(labels))


def class_mistakes(dataset: Dataset) -> list[str]:
    """Only one class, or classes without samples; labels that are not class numbers are not judged here."""
    labels, names = dataset.labels, dataset.class_names
    if labels.ndim != 1 or labels.dtype != torch.int64 or len(labels) == 0:
        return []
    labeled = int(dataset.labeled.sum())
    present = set(labels[dataset.labeled].unique().tolist())
    if isinstance(dataset.candidates, CandidateSets):  # a mask of the wrong type is reported elsewhere
        present = set(dataset.candidates.classes.unique().tolist())
    gaps = dataset.candidates is None and bool((labels == -1).any())
    if gaps and labeled < len(names):
        many = plural(labeled, "labeled sample")
        return [f"labels: {many} for {len(names)} classes; label at least one of each class"]
    if not gaps and len(present) == 1:
        only = present.pop()
        name = names[only] if 0 <= only < len(names) else only
        return [f"labels: only one class, {name!r}, in {plural(len(labels), 'sample')}; a classifier needs two or more"]
    absent = listed(repr(name) for number, name in enumerate(names) if number not in present)
    if not absent:
        return []
    found = f"no labeled sample of {absent}" if gaps else f"no samples of {absent}"
    known = f"{len(names)} classes, {plural(labeled, 'label')}" if gaps else f"{len(names)} classes"
    remedy = "label some" if gaps else "add some"
    return [f"labels: {found} (of {known}); {remedy}, or leave the class out of the class names"]


def candidate_mistakes(candidates: CandidateSets | Tensor, num_labels: int, num_classes: int) -> list[str]:
    """A mask of the wrong type (a tensor) or shape, or rows without a candidate."""
    if isinstance(candidates, Tensor) or candidates.shape != (num_labels, num_classes):
        kind = candidates.dtype if isinstance(candidates, Tensor) else torch.bool
        return [
            f"candidates: shape {tuple(candidates.shape)} of {kind}; "
            f"give true or false for each class, shape ({num_labels}, {num_classes})"
        ]
    rows = (candidates.counts == 0).nonzero().flatten().tolist()
    if not rows:
        return []
    return [
        f"candidates: none in {len(rows)} of {num_labels} samples: {at_rows(rows)}; "
        "name at least one class for each (all classes where nothing is known), or drop the rows"
    ]


def range_mistakes(labels: Tensor, num_classes: int, what: str, lowest: int = 0) -> list[str]:
    """Labels below ``lowest`` or beyond the last class, with their rows."""
    rows = ((labels < lowest) | (labels >= num_classes)).nonzero().flatten().tolist()
    if not rows:
        return []
    wrong = (f"{int(labels[row])} (row {row})" for row in rows)
    return [
        f"{what}: {len(rows)} outside 0..{num_classes - 1}: {listed(wrong)}; "
        "number the classes from 0, or name more classes"
    ]


def input_mistakes(inputs: Inputs, num_labels: int) -> list[str]:
    """Inputs that do not match the labels in number, or hold NaN or infinity, with their rows."""
    mistakes = []
    if len(inputs) != num_labels:
        mistakes.append(f"inputs: {len(inputs)} for {plural(num_labels, 'label')}; give one label per sample")
    if isinstance(inputs, Tensor) and inputs.is_floating_point():
        for trouble, found in (("NaN", inputs.isnan()), ("infinite", inputs.isinf())):
            rows = found.flatten(1).any(1).nonzero().flatten().tolist()
            if rows:
                mistakes.append(
                    f"inputs: {trouble} in {len(rows)} of {len(inputs)} samples: {at_rows(rows)}; "
                    "fill these values or drop the rows"
                )
    return mistakes


def at_rows(rows: Sequence[int]) -> str:
    """Row numbers for a message: "row 3", "rows 3, 8"."""
    return f"{'row' if len(rows) == 1 else 'rows'} {listed(rows)}"

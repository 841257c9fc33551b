"""What was found in a dataset, and the likely problems in words."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from reweigh.data.checks import listed, plural
from reweigh.data.labels.candidates import SEPARATOR, several_in_one

FEW = 10  # samples of a class; a meta set takes about this many of each
LONG_TAIL = 5.0  # smallest imbalance factor that is reported
MANY_COPIES = 0.01  # share of samples


@dataclass(frozen=True)
class Findings:
    """Facts about a dataset; samples are given by their index in the source.

    Attributes:
        num_samples: Number of samples that can be used.
        shape: Shape of one sample.
        class_names: Class names in the order of the class numbers.
        class_sizes: Number of samples of each class by given label.
        duplicates: Groups of samples with identical inputs.
        conflicting: Groups of identical inputs whose labels differ, with the labels; at least one is wrong.
        constant: Samples whose input is the same value everywhere.
        constant_features: Features that are the same in all samples, by name if there is one; not searched in images.
        not_finite: Samples with NaN or infinity.
        unreadable: What the reader left out, each with the reason.
        missing: Number of missing values that were filled, by column.
        names: Names of the samples in the source, if they have any.
    """

    num_samples: int
    shape: tuple[int, ...]
    class_names: tuple[str, ...]
    class_sizes: tuple[int, ...]
    duplicates: tuple[tuple[int, ...], ...]
    conflicting: tuple[tuple[tuple[int, int], ...], ...]
    constant: tuple[int, ...]
    constant_features: tuple[int | str, ...]
    not_finite: tuple[int, ...]
    unreadable: tuple[str, ...]
    missing: Mapping[str, int]
    names: tuple[str, ...] = ()

    @property
    def imbalance_factor(self) -> float:
        """Size of the largest class over that of the smallest; infinite if a class is empty."""
        return max(self.class_sizes) / min(self.class_sizes) if min(self.class_sizes) else float("inf")

    @property
    def surely_wrong(self) -> int:
        """Number of labels that must be wrong because identical inputs have others."""
        return sum(len(group) - max(Counter(label for _, label in group).values()) for group in self.conflicting)

    @property
    def trouble(self) -> tuple[str, ...]:
        """Likely problems in words, the worst first."""
        sentences = (self._classes(), self._inputs(), self._labels(), self._tail(), self._copies())
        return tuple(sentence for group in sentences for sentence in group)

    def called(self, row: int) -> str:
        """The name of a sample, or its row."""
        return self.names[row] if self.names else f"row {row}"

    def _classes(self) -> list[str]:
        sizes = dict(zip(self.class_names, self.class_sizes, strict=True))
        empty = [name for name, size in sizes.items() if size == 0]
        few = [f"{name} ({size})" for name, size in sizes.items() if 0 < size < FEW]
        found = []
        if empty:
            found.append(f"No samples of {listed(empty)}: a classifier cannot learn what it never sees.")
        if few:
            found.append(f"Fewer than {FEW} samples of {listed(few)}: too few to tell right labels from wrong ones.")
        if several := several_in_one(self.class_names):
            name, separator = several
            option = "--candidates" if separator == SEPARATOR else f"--candidates data.separator='{separator}'"
            found.append(f"Class {name!r} seems to name several candidates; if one of them is right: {option}.")
        return found

    def _inputs(self) -> list[str]:
        found = []
        if self.not_finite:
            some = self._some(self.not_finite)
            found.append(
                f"NaN or infinity in {plural(len(self.not_finite), 'sample')} ({some}): training would diverge."
            )
        if self.unreadable:
            found.append(f"Files that cannot be read and are left out: {listed(self.unreadable)}.")
        if self.constant:
            found.append(f"Constant inputs, blank or broken: {self._some(self.constant)}.")
        if self.constant_features:
            some = listed(self.constant_features)
            found.append(f"Features that never change, which a model cannot use: {some}.")
        if self.missing:
            counts = listed(f"{count} in {name!r}" for name, count in self.missing.items())
            found.append(f"{plural(sum(self.missing.values()), 'missing value')} filled: {counts}.")
        return found

    def _labels(self) -> list[str]:
        if not self.conflicting:
            return []
        first = listed(f"{self.called(row)} is {self.class_names[label]!r}" for row, label in self.conflicting[0])
        return [
            f"{plural(len(self.conflicting), 'input')} with several different labels ({first}): "
            f"at least {plural(self.surely_wrong, 'label is', 'labels are')} wrong if the inputs determine the class."
        ]

    def _tail(self) -> list[str]:
        if not LONG_TAIL <= self.imbalance_factor < float("inf"):
            return []
        sizes = list(zip(self.class_sizes, self.class_names, strict=True))
        (most, largest), (least, smallest) = max(sizes, key=lambda s: s[0]), min(sizes, key=lambda s: s[0])
        return [
            f"A long tail: {largest!r} has {most} samples, {smallest!r} has {least}, "
            f"a factor of {self.imbalance_factor:.3g}. "
            "Judge by balanced accuracy; plain training neglects the small classes."
        ]

    def _copies(self) -> list[str]:
        copies = sum(len(group) - 1 for group in self.duplicates)
        if copies < max(2, MANY_COPIES * self.num_samples):
            return []
        return [
            f"{copies} samples are exact copies of others: "
            "a random split puts some of them on both sides, which makes the score too good."
        ]

    def _some(self, rows: tuple[int, ...]) -> str:
        return listed(map(self.called, rows))

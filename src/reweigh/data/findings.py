"""What to know about data before training: broken and repeated samples, columns that give the label away, and more."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from reweigh.data.dataset import Dataset, listed, plural
from reweigh.data.labels.label_file import SEPARATOR, several_in_one
from reweigh.data.tables.cells import MISSING

MIN_CLASS_SIZE = 10  # a meta set takes about this many of each class
LONG_TAIL = 5.0  # smallest imbalance factor that is reported
MANY_COPIES = 0.01  # share of samples
ROWS_AT_ONCE = 1000
IMAGES_AT_ONCE = 100  # as floating point numbers
MAX_TREE_ROWS = 3000  # rows that a tree is fitted to and scored on
MAX_TREE_COLUMNS = 300
LEAK_ACCURACY = 0.97  # held-out accuracy of a tree on one column
LEAK_GAIN = 0.8  # of the way from a guess to certainty
ORDER_GAIN = 0.5  # of the way from a guess to certainty
MIN_TREE_SAMPLES = 40  # samples; fewer prove nothing
MIN_TREE_CLASS_SIZE = 5  # smallest class that a tree can learn
MIN_SIDE = 16  # pixels; in smaller images a few strokes are all there is
DARK = 0.05  # mean brightness; and a quarter of the usual one, since digits are drawn on black
BLURRED = 0.2  # of the usual sharpness
APART = 0.75  # smallest distance between the distributions of a trait in a class and in the others
ODD_SIZE = 3.0  # of the usual ratio of sides, or of the usual length of a side


@dataclass(frozen=True)
class Findings:
    """Facts about a dataset; samples are given by their index in the source.

    Attributes:
        conflicting: Groups of identical inputs whose labels differ, with the labels; at least one is wrong.
        constant_features: Features that are the same in all samples, by name if there is one; not searched in images.
        traits: Of images: brightness and sharpness of each, shape (N,).
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
    traits: Mapping[str, Tensor] = field(default_factory=dict)

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
        return (*self._classes(), *self._inputs(), *self._labels())

    def called(self, row: int) -> str:
        """The name of a sample, or its row."""
        return self.names[row] if self.names else f"row {row}"

    def _classes(self) -> list[str]:
        sizes = dict(zip(self.class_names, self.class_sizes, strict=True))
        empty = [name for name, size in sizes.items() if size == 0]
        few = [f"{name} ({size})" for name, size in sizes.items() if 0 < size < MIN_CLASS_SIZE]
        found = []
        if empty:
            found.append(f"No samples of {listed(empty)}: a classifier cannot learn what it never sees.")
        if few:
            found.append(
                f"Fewer than {MIN_CLASS_SIZE} samples of {listed(few)}: too few to tell right labels from wrong ones."
            )
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
        found = []
        if self.conflicting:
            first = listed(f"{self.called(row)} is {self.class_names[label]!r}" for row, label in self.conflicting[0])
            found.append(
                f"{plural(len(self.conflicting), 'input')} with several different labels ({first}): at least "
                f"{plural(self.surely_wrong, 'label is', 'labels are')} wrong if the inputs determine the class."
            )
        if LONG_TAIL <= self.imbalance_factor < float("inf"):
            sizes = list(zip(self.class_sizes, self.class_names, strict=True))
            (most, largest), (least, smallest) = max(sizes, key=lambda s: s[0]), min(sizes, key=lambda s: s[0])
            found.append(
                f"A long tail: {largest!r} has {most} samples, {smallest!r} has {least}, a factor of "
                f"{self.imbalance_factor:.3g}. Judge by balanced accuracy; plain training neglects the small classes."
            )
        copies = sum(len(group) - 1 for group in self.duplicates)
        if copies >= max(2, MANY_COPIES * self.num_samples):
            found.append(
                f"{copies} samples are exact copies of others: reweigh keeps them on one side of a split; on both "
                "sides, they would make the score too good."
            )
        return found

    def _some(self, rows: tuple[int, ...]) -> str:
        return listed(map(self.called, rows))


def inspect(dataset: Dataset) -> Findings:
    """Class sizes, duplicates, contradictory labels, blank and broken inputs.

    Inputs that are not in memory are read a thousand at a time.
    """
    identical: dict[bytes, list[int]] = defaultdict(list)
    constant: list[int] = []
    not_finite: list[int] = []
    spans: list[tuple[Tensor, Tensor]] = []
    traits: list[Tensor] = []
    for rows in torch.arange(len(dataset)).split(ROWS_AT_ONCE):
        samples = dataset.inputs[rows]
        if dataset.is_images and samples.dtype == torch.uint8 and min(samples.shape[2:]) >= MIN_SIDE:
            traits += [_traits(some) for some in samples.split(IMAGES_AT_ONCE)]
        inputs = samples.flatten(1).contiguous()
        for row, sample in zip(rows.tolist(), inputs.numpy(), strict=True):
            identical[blake2b(sample.tobytes(), digest_size=16).digest()].append(row)
        constant += rows[inputs.amin(1) == inputs.amax(1)].tolist()
        not_finite += rows[~inputs.isfinite().all(1)].tolist()
        spans.append((inputs.amin(0), inputs.amax(0)))

    origin = dataset.source_rows.tolist()
    labels = dataset.labels.tolist()
    copies = [rows for rows in identical.values() if len(rows) > 1]
    called = [] if dataset.reading.encoding is None else dataset.reading.encoding.feature_names
    same: tuple[int, ...] = ()
    if len(dataset.shape) == 1:
        lowest, highest = (
            torch.stack([low for low, _ in spans]).amin(0),
            torch.stack([high for _, high in spans]).amax(0),
        )
        same = tuple((lowest == highest).nonzero().flatten().tolist())
    return Findings(
        num_samples=len(dataset),
        shape=dataset.shape,
        class_names=dataset.class_names,
        class_sizes=tuple(dataset.class_sizes.tolist()),
        duplicates=tuple(tuple(origin[row] for row in rows) for rows in copies),
        conflicting=tuple(
            tuple((origin[row], labels[row]) for row in rows)
            for rows in copies
            if len({labels[row] for row in rows}) > 1
        ),
        constant=() if dataset.shape == (1,) else tuple(origin[row] for row in constant),
        constant_features=tuple(called[number] for number in same) if called else same,
        not_finite=tuple(origin[row] for row in not_finite),
        unreadable=dataset.reading.skipped,
        missing=dict(dataset.reading.missing),
        names=dataset.reading.names,
        traits=dict(zip(("brightness", "sharpness"), torch.cat(traits, 1), strict=True)) if traits else {},
    )


def traits_of(dataset: Dataset, most: int) -> dict[str, Tensor]:
    """Brightness and sharpness of the first images, at most ``most``, and height and width if these differ."""
    rows = dataset.source_rows[:most].tolist()
    if len(rows) == 0 or dataset.dtype != torch.uint8 or min(dataset.shape[1:]) < MIN_SIDE:
        return {}
    parts = [_traits(dataset.inputs[some]) for some in torch.arange(len(rows)).split(IMAGES_AT_ONCE)]
    return _with_sizes(dict(zip(("brightness", "sharpness"), torch.cat(parts, 1), strict=True)), dataset, rows)


def _with_sizes(traits: Mapping[str, Tensor], dataset: Dataset, rows: Sequence[int]) -> dict[str, Tensor]:
    sizes = [dataset.reading.sizes[row] for row in rows] if dataset.reading.sizes else []
    if len({*sizes}) < 2:
        return dict(traits)
    height, width = torch.tensor(sizes).float().T
    return {**traits, "height": height, "width": width}


def _traits(images: Tensor) -> Tensor:
    """Brightness from 0 to 1, and edges relative to contrast, which are few in a blurred image; shape (2, N)."""
    gray = images.float().mean(1) / 255
    edges = 4 * gray[:, 1:-1, 1:-1] - gray[:, :-2, 1:-1] - gray[:, 2:, 1:-1] - gray[:, 1:-1, :-2] - gray[:, 1:-1, 2:]
    return torch.stack([gray.mean((1, 2)), edges.flatten(1).std(1) / gray.flatten(1).std(1).clamp_min(1 / 255)])


def image_traps(dataset: Dataset, traits: Mapping[str, Tensor]) -> list[str]:
    """Images that are black, white, blurred or of an odd size, and what of this predicts the label, in words.

    Args:
        traits: Those of ``Findings``.
    """
    if not traits:
        return []
    names, rows, found = dataset.reading.names, dataset.source_rows.tolist(), []
    light, sharp = traits["brightness"], traits["sharpness"]
    odd = {
        "nearly black": light < min(DARK, light.median().item() / 4),
        "nearly white": 1 - light < min(DARK, 1 - light.median().item()) / 4,
        "blurred, with far fewer edges than the others": sharp < BLURRED * sharp.median(),
    }
    traits = _with_sizes(traits, dataset, rows)
    if "height" in traits:
        height, width = traits["height"], traits["width"]
        far = [(its / its.median()).log().abs() > np.log(ODD_SIZE) for its in (height, width, width / height)]
        odd[f"of an odd size (usual: {width.median():.0f} x {height.median():.0f})"] = far[0] | far[1] | far[2]
    for words, which in odd.items():
        if few := which.nonzero().flatten().tolist():
            called = listed(names[rows[place]] if names else f"row {rows[place]}" for place in few)
            found.append(f"{plural(len(few), 'image is', 'images are')} {words}: {called}.")
    chosen = _some(dataset)
    labels = dataset.labels[chosen].numpy()
    for name, values in traits.items():
        classes = np.unique(labels) if len(chosen) >= MIN_TREE_SAMPLES else ()
        apart = [(*_apart(values[chosen].numpy(), labels == label), label) for label in classes]
        distance, value, own, others, label = max(apart, default=(0.0, 0.0, 0.0, 0.0, 0))
        if distance >= APART:
            where = "at most" if own > others else "above"
            own, others = (own, others) if own > others else (1 - own, 1 - others)
            found.append(
                f"The {name} is {where} {value:.3g} in {own:.0%} of the images of {dataset.class_names[label]!r} and "
                f"in {others:.0%} of the others. If the class does not differ in this by nature, a model may learn "
                "how its images were made."
            )
    return found


def _apart(values: np.ndarray, inside: np.ndarray) -> tuple[float, float, float, float]:
    """How far a class lies from the others in one number (Kolmogorov and Smirnov's distance), and where.

    Returns:
        The distance, the value that parts them best, and the share of the class and of the others up to it.
    """
    at = np.unique(values)
    shares = [
        np.searchsorted(np.sort(part), at, "right") / max(len(part), 1) for part in (values[inside], values[~inside])
    ]
    best = int(np.abs(shares[0] - shares[1]).argmax())
    own, others = float(shares[0][best]), float(shares[1][best])
    return abs(own - others), float(at[best]), own, others


def leaks(dataset: Dataset) -> list[str]:
    """Columns of a table that nearly determine the label, in words.

    A tree on one column alone, scored on rows that it has not seen. If labels are wrong at random, no honest column
    comes near certainty; a column that does was made from the label, or is the label.
    """
    encoding, chosen = dataset.reading.encoding, _some(dataset)
    if encoding is None or len(encoding.columns) < 2 or len(chosen) < MIN_TREE_SAMPLES:  # one cannot be left out
        return []
    labels = dataset.labels[chosen].numpy()
    inputs = dataset.inputs[chosen].numpy()
    found, start = [], 0
    for column in encoding.columns[:MAX_TREE_COLUMNS]:
        names = column.feature_names
        block, start = inputs[:, start : start + len(names)], start + len(names)
        score, guess = _score(block, labels), _guess(labels)
        gaps = next((block[:, place] > 0 for place, name in enumerate(names) if name.endswith(MISSING)), None)
        where = ""
        if gaps is not None and (~gaps).sum() >= MIN_TREE_SAMPLES and not _determines(score, guess):
            score, guess = _score(block[~gaps], labels[~gaps]), _guess(labels[~gaps])
            where = f" where it has a value (in {1 - gaps.mean():.0%} of the rows)"
        if _determines(score, guess):
            found.append(
                f"Column {column.name!r} alone predicts {score:.1%} of the labels{where}; the most frequent class is "
                f"{guess:.0%} of them. If the column is made from the label, or known only afterward, leave it out: "
                f"--drop {shlex.quote(column.name)}."
            )
    return found


def _determines(score: float, guess: float) -> bool:
    """Whether a score is near certainty, and not only because one class is."""
    return score >= max(LEAK_ACCURACY, guess + LEAK_GAIN * (1 - guess))


def order(dataset: Dataset) -> list[str]:
    """Whether the labels follow the order of the rows, in words."""
    chosen = _some(dataset)
    if len(chosen) < MIN_TREE_SAMPLES or len(dataset.reading.names):  # files are in the order of folders
        return []
    labels = dataset.labels[chosen].numpy()
    score, guess = _score(chosen.numpy()[:, None].astype(np.float32), labels), _guess(labels)
    if score < guess + ORDER_GAIN * (1 - guess):
        return []
    return [
        f"The rows are in the order of their labels: the row number alone predicts {score:.1%} of them. Columns that "
        "count rows or rise with time would give the label away."
    ]


def in_both(train: Dataset, test: Dataset) -> list[str]:
    """How many test samples are exact copies of training samples, in words."""
    if train.shape != test.shape or train.dtype != test.dtype:
        return []
    rows, others = (part.inputs[torch.arange(len(part))].flatten(1).contiguous().numpy() for part in (train, test))
    seen = {row.tobytes() for row in rows}
    copies = [row for row, sample in enumerate(others) if sample.tobytes() in seen]
    if not copies:
        return []
    return [
        f"{plural(len(copies), 'test sample is', 'test samples are')} also in the training part (row {listed(copies)} "
        "of the test part): the score on them is too good."
    ]


def _some(dataset: Dataset) -> torch.Tensor:
    """Indices of at most MAX_TREE_ROWS labeled samples all over the dataset, of classes that a tree can learn."""
    labeled = dataset.labeled.nonzero().flatten()
    chosen = labeled[:: max(1, -(-len(labeled) // MAX_TREE_ROWS))]
    sizes = torch.bincount(dataset.labels[chosen], minlength=1)
    return chosen[sizes[dataset.labels[chosen]] >= MIN_TREE_CLASS_SIZE]


def _guess(labels: np.ndarray) -> float:
    """The accuracy of always naming the most frequent class."""
    return float(np.unique(labels, return_counts=True)[1].max() / len(labels))


def _score(features: np.ndarray, labels: np.ndarray) -> float:
    """Accuracy of a small tree on rows that it was not fitted to; half of them and the other half."""
    from sklearn.tree import DecisionTreeClassifier

    half = np.random.default_rng(0).random(len(labels)) < 0.5
    right = 0
    for fitted in (half, ~half):
        tree = DecisionTreeClassifier(max_leaf_nodes=max(8, 4 * len(np.unique(labels))), random_state=0)
        right += int((tree.fit(features[fitted], labels[fitted]).predict(features[~fitted]) == labels[~fitted]).sum())
    return right / len(labels)

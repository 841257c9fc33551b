"""Biased data with known truth, by name: "source:bias".

Sources: c (pretrained features of 10,000 CIFAR-10 images), f (20,000 images of Fashion-MNIST as rows), s (5,000 of
these), i (10,000 CIFAR-10 images), the tables digits, cancer, wine (from scikit-learn), made and rare (from
make_classification, rare with two classes, one of 3 %), overlap60 (a table on which no classifier has more than 60 %
of accuracy, and likewise for other numbers), and hausa (news headlines). Biases: clean; labels by people
(aggregate, random1) and by a model (fd1, fd2) for c and i; lexicon for hausa; symmetric (sym40) and one-way (way40)
noise in percent; long tails (lt50), also with noise (lt50sym30).
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.optimize import root_scalar
from scipy.sparse import csr_matrix
from scipy.special import softmax
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from reweigh.bias import BIASES
from reweigh.data import Dataset, from_arrays
from reweigh.data.readers.published import find_idx_pair, read_idx

FEATURES = ["clean", "aggregate", "random1", "fd1", "fd2", "sym40", "way40", "lt50sym30"]
FASHION = ["clean", "sym40", "way40", "way60", "lt100", "lt200", "lt50sym30"]
TABLES = [f"{name}:{bias}" for name in ("digits", "cancer", "wine") for bias in ("sym20", "way30")]
CELLS = [
    *(f"c:{bias}" for bias in FEATURES),
    *(f"f:{bias}" for bias in FASHION),
    *TABLES,
    "made:sym30",
    *(f"rare:{bias}" for bias in ("clean", "sym10", "way30")),
    "hausa:lexicon",
]
FILES = {
    "aggregate": "cifar10n-aggregate",
    "random1": "cifar10n-random1",
    "fd1": "cifar10-feature-dependent-1-35",
    "fd2": "cifar10-feature-dependent-2-35",
}
CIFAR = {9: 1, 2: 0, 4: 7, 3: 5}
FASHION_WAYS = {0: 6, 2: 4, 5: 7, 9: 7}
ONE_WAY = {  # as is usual for these data
    "c": CIFAR,
    "i": CIFAR,
    "f": FASHION_WAYS,
    "s": FASHION_WAYS,
    "digits": {3: 8, 4: 9, 5: 6, 7: 1},
    "cancer": {1: 0},
    "wine": {0: 1, 2: 1},
    "rare": {1: 0},
}

Parts = tuple[NDArray, NDArray, NDArray, NDArray]
"""Training inputs and true labels, test inputs and labels."""


def is_tail(name: str) -> bool:
    """Whether balanced accuracy is what counts."""
    return ":lt" in name or name.startswith("rare:")


def cell(name: str, seed: int, data: Path, noise: Path) -> tuple[Dataset, Dataset]:
    """Training set with wrong labels (and the true ones), and test set with true labels.

    Args:
        data: Folder with features.npz (x_train, y_train, x_test, y_test), fashion-mnist and cifar-10-batches-bin.
        noise: Folder with the label files.
    """
    kind, _, bias = name.partition(":")
    if kind == "hausa":
        return headlines(noise)
    inputs, true, test_inputs, test = source(kind, seed, data)
    classes = int(true.max()) + 1
    kept, given = torch.arange(len(true)), torch.from_numpy(true)
    if bias in FILES:
        given = torch.from_numpy(np.load(noise / f"{FILES[bias]}.npy").astype(np.int64)[: len(true)])
    elif bias != "clean":
        found = re.fullmatch(r"(?:lt(\d+))?(?:(sym|way)(\d+))?", bias)
        assert found, f"{name}: not a bias"
        tail, flips, rate = found.groups()
        if tail:
            kept = BIASES["long-tail"](given, classes, seed, imbalance_factor=float(tail)).index
            given = given[kept]
        if flips == "sym":
            given = BIASES["symmetric"](given, classes, seed, rate=int(rate) / 100).labels
        elif flips == "way":
            given = BIASES["asymmetric"](given, classes, seed, rate=int(rate) / 100, map=ONE_WAY[kind]).labels
    names = [str(number) for number in range(classes)]
    train = from_arrays(inputs[kept], given, class_names=names, true_labels=torch.from_numpy(true)[kept])
    return train, from_arrays(test_inputs, test, class_names=names, normalize=train.normalize)


def source(name: str, seed: int, data: Path) -> Parts:
    """What there is before any bias; tables are split by the seed, two thirds to train on."""
    if name == "c":
        found = np.load(data / "features.npz")
        return found["x_train"], found["y_train"], found["x_test"], found["y_test"]
    if name in ("f", "s"):
        parts = []
        for part, most in (("train", 20_000 if name == "f" else 5_000), ("test", None)):
            pair = find_idx_pair(data / "fashion-mnist", part)
            assert pair, f"{data / 'fashion-mnist'}: no {part} part"
            images, labels = (read_idx(file).numpy()[:most] for file in pair)
            parts += [images.reshape(len(images), -1).astype(np.float32) / 255, labels.astype(np.int64)]
        return parts[0], parts[1], parts[2], parts[3]
    if name == "i":
        folder = data / "cifar-10-batches-bin"
        return (*cifar(folder / "data_batch_1.bin", 10_000), *cifar(folder / "test_batch.bin", 3_000))
    if name == "made":
        made = datasets.make_classification(
            12_000, 40, n_informative=12, n_redundant=8, n_classes=5, n_clusters_per_class=3, flip_y=0, random_state=7
        )
        return thirds(made[0], np.asarray(made[1]), seed)
    if name == "rare":
        made = datasets.make_classification(
            12_000, 20, n_informative=8, n_clusters_per_class=3, weights=[0.97], flip_y=0, random_state=3
        )
        return thirds(np.asarray(made[0]), np.asarray(made[1]), seed)
    if name.startswith("overlap"):
        return thirds(*overlapping(int(name.removeprefix("overlap")) / 100, 6_000), seed)
    load = {"digits": datasets.load_digits, "cancer": datasets.load_breast_cancer, "wine": datasets.load_wine}[name]
    inputs, labels = load(return_X_y=True)
    return thirds(inputs, labels, seed)


def overlapping(accuracy: float, rows: int) -> tuple[NDArray, NDArray]:
    """Labels of four classes drawn from a softmax of 12 features, so that the best classifier has this accuracy."""
    draw = np.random.default_rng(5)
    inputs, directions, chance = draw.normal(size=(rows, 12)), draw.normal(size=(12, 4)), draw.random((rows, 1))

    def probabilities(scale: float) -> NDArray:
        return softmax(scale * inputs @ directions, axis=1)

    found = root_scalar(lambda scale: probabilities(scale).max(1).mean() - accuracy, bracket=(1e-3, 1e3))
    return inputs, (probabilities(found.root).cumsum(1) < chance).sum(1)


def thirds(inputs: NDArray, labels: NDArray, seed: int) -> Parts:
    """A third to test on; columns are standardized by the others."""
    train, test = train_test_split(np.arange(len(labels)), test_size=1 / 3, random_state=seed, stratify=labels)
    rows, labels = (inputs - inputs[train].mean(0)) / (inputs[train].std(0) + 1e-6), labels.astype(np.int64)
    rows = rows.astype(np.float32)
    return rows[train], labels[train], rows[test], labels[test]


def cifar(file: Path, most: int) -> tuple[NDArray, NDArray]:
    """Images of shape (n, 3, 32, 32) and labels."""
    rows = np.fromfile(file, np.uint8).reshape(-1, 3073)[:most]
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].astype(np.int64)


def headlines(noise: Path) -> tuple[Dataset, Dataset]:
    """TF-IDF of headlines; a lexicon gave the labels, and people the true ones."""
    train, test = (pd.read_csv(noise / f"hausa-news-{part}.csv") for part in ("train", "test"))
    names = sorted({*train["true"], *train["given"], *test["true"]})
    words = TfidfVectorizer(min_df=2, sublinear_tf=True, max_features=4000)
    words.fit(train["text"])
    inputs, test_inputs = (csr_matrix(words.transform(part["text"])).toarray() for part in (train, test))
    inputs, test_inputs = (rows.astype(np.float32) / np.float32(inputs.std()) for rows in (inputs, test_inputs))
    dataset = from_arrays(inputs, list(train["given"]), class_names=names, true_labels=list(train["true"]))
    return dataset, from_arrays(test_inputs, list(test["true"]), class_names=names, normalize=dataset.normalize)

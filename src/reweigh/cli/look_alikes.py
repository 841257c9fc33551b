"""What ``reweigh inspect`` says of rows that are nearly the same, and of classes that are two."""

from typing import TYPE_CHECKING

from reweigh.cli.neighbors import names_of
from reweigh.data.checks import listed, plural

if TYPE_CHECKING:
    from torch import Tensor

    from reweigh.data import Dataset

VALUES = 20_000_000  # that are compared at most
ROWS = 10_000
EXAMPLES = 3


def near_rows(dataset: "Dataset") -> list[str]:
    """Rows that are nearly the same but have different labels, in words; nothing for images."""
    from reweigh.features.near_rows import near_duplicates

    if len(dataset.shape) != 1:
        return []
    index, rows = _compared(dataset)
    pairs = index[near_duplicates(rows)]
    differ = pairs[dataset.labels[pairs[:, 0]] != dataset.labels[pairs[:, 1]]].tolist()
    if not differ:
        return []
    names = names_of(dataset)
    some = [" and ".join(f"{names[row]} is {_label(dataset, row)}" for row in pair) for pair in differ]
    return [
        f"{plural(len(differ), 'pair of rows is', 'pairs of rows are')} nearly the same, with different labels "
        f"({'; '.join(some[:EXAMPLES])}{'; ...' if len(some) > EXAMPLES else ''}): likely one of each is wrong."
    ]


def double_classes(dataset: "Dataset") -> list[str]:
    """Classes that fall into two kinds of samples, in words; of images nothing unless these are features."""
    from reweigh.features.doubles import doubles

    if len(dataset.shape) != 1:
        return []
    index, rows = _compared(dataset)
    sentences = []
    for label, parts in doubles(rows, dataset.labels[index]):
        sizes = " and ".join(f"{len(part):,} (such as {_examples(dataset, index[part])})" for part in parts)
        sentences.append(
            f"Class {dataset.class_names[label]!r} looks like two kinds that lie apart: {sizes}. If they are different "
            "things, give them labels of their own."
        )
    return sentences


def _compared(dataset: "Dataset") -> "tuple[Tensor, Tensor]":
    """Indices of labeled samples, spread over the dataset and as many as can be compared, and their features."""
    labeled = dataset.labeled.nonzero().flatten()
    most = max(1, min(ROWS, VALUES // max(1, dataset.shape[0])))
    index = labeled[:: max(1, -(-len(labeled) // most))]
    return index, dataset.normalize(dataset.inputs[index].float())


def _examples(dataset: "Dataset", rows: "Tensor") -> str:
    names = names_of(dataset)
    return listed(names[row] for row in rows[:EXAMPLES].tolist())


def _label(dataset: "Dataset", index: int) -> str:
    return repr(dataset.class_names[int(dataset.labels[index])])

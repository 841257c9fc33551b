"""Asymmetric noise: labels are replaced by those of similar classes, by a map from class to class."""

import logging
from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
import torch
from annotated_types import Ge, Le
from pydantic import AfterValidator
from torch import Tensor

from reweigh.bias.biased import Biased, check_labels, chosen, compare
from reweigh.errors import DataError
from reweigh.names import suggestion

logger = logging.getLogger(__name__)
ClassMap = Mapping[int, tuple[int, ...]]  # class -> the classes it is mistaken for, all equally likely
Target = str | int | list[str | int]
GivenMap = Mapping[str, Target] | Mapping[int, Target]

# Superclass of each of CIFAR-100's fine classes, in alphabetical order of both, as in the files of the dataset.
CIFAR100_SUPERCLASS = (
    *(4, 1, 14, 8, 0, 6, 7, 7, 18, 3, 3, 14, 9, 18, 7, 11, 3, 9, 7, 11, 6, 11, 5, 10, 7),
    *(6, 13, 15, 3, 15, 0, 11, 1, 10, 12, 14, 16, 9, 11, 5, 5, 19, 8, 8, 15, 13, 14, 17, 18, 10),
    *(16, 4, 17, 4, 2, 0, 17, 4, 18, 17, 10, 3, 2, 12, 12, 16, 12, 1, 9, 19, 2, 10, 0, 1, 16),
    *(12, 9, 13, 15, 13, 16, 19, 2, 4, 6, 19, 5, 5, 8, 19, 18, 1, 2, 15, 6, 0, 17, 8, 14, 13),
)


def siblings(groups: Sequence[int]) -> ClassMap:
    """Each class is mistaken for any other of its group, all equally likely."""
    return {
        one: tuple(other for other, its in enumerate(groups) if its == group and other != one)
        for one, group in enumerate(groups)
    }


def next_in_group(groups: Sequence[int]) -> ClassMap:
    """Each class is mistaken for the next of its group, the last for the first."""
    after = {}
    for group in set(groups):
        members = [one for one, its in enumerate(groups) if its == group]
        after |= {one: (other,) for one, other in zip(members, members[1:] + members[:1], strict=True)}
    return after


# Name -> (number of classes, map).
MAPS: dict[str, tuple[int, ClassMap]] = {
    # similar digits, one way: each class loses or gains samples, never both, so class sizes show which
    "digits": (10, {3: (8,), 4: (9,), 5: (6,), 7: (1,)}),
    "mnist": (10, {2: (7,), 3: (8,), 5: (6,), 6: (5,), 7: (1,)}),  # similar digits, Patrini et al. 2017
    # shirt -> T-shirt, pullover -> coat, sandal -> sneaker, dress -> trouser
    "fashion-mnist": (10, {6: (0,), 2: (4,), 5: (7,), 3: (1,)}),
    # truck -> automobile, bird -> airplane, deer -> horse, cat -> dog: one way, as in the paper's code
    "cifar10": (10, {9: (1,), 2: (0,), 4: (7,), 3: (5,)}),
    # the same with cat <-> dog, as in DivideMix and PLC
    "cifar10-two-way": (10, {9: (1,), 2: (0,), 4: (7,), 3: (5,), 5: (3,)}),
    "cifar100": (100, siblings(CIFAR100_SUPERCLASS)),  # uniform within the superclass, as in C2D
    "cifar100-next": (100, next_in_group(CIFAR100_SUPERCLASS)),  # as in Patrini et al. 2017
    # the next within five successive numbers, which are not similar classes: as in PLC's code
    "cifar100-fives": (100, next_in_group([label // 5 for label in range(100)])),
}

# The first three classes and the number of classes of well-known data -> their usual map.
USUAL: dict[tuple[str | int, ...], str] = {
    ("0", "1", "2", 10): "mnist",
    ("T-shirt", "trouser", "pullover", 10): "fashion-mnist",
    ("airplane", "automobile", "bird", 10): "cifar10",
    ("apple", "aquarium_fish", "baby", 100): "cifar100",
}


def usual(num_classes: int, class_names: Sequence[str] | None) -> ClassMap:
    """The map of well-known data, recognized by their classes; a DataError for any other data."""
    name = USUAL.get((*class_names[:3], num_classes)) if class_names else None
    if name is None:
        raise DataError(
            f"map: which classes are confused? Give {{'cat': 'dog', ...}} or one of: {', '.join(sorted(MAPS))}"
        )
    logger.info("asymmetric: classes are confused by the map %r", name)
    return named(name, num_classes)


def known(name: str) -> str:
    """``name``, if there is a map of that name; otherwise a DataError."""
    if name not in MAPS:
        raise DataError(
            f"map: no map named {name!r}; there are: {', '.join(sorted(MAPS))}.{suggestion(name, MAPS)} "
            "Or give your own: {'cat': 'dog', ...}"
        )
    return name


def named(name: str, num_classes: int) -> ClassMap:
    """The map called ``name``; a DataError if there is none, or if it is for another number of classes."""
    size, found = MAPS[known(name)]
    if size != num_classes:
        raise DataError(
            f"map: {name!r} is for {size} classes, the data have {num_classes}; give your own, {{'cat': 'dog', ...}}"
        )
    return found


def resolved(given: GivenMap, num_classes: int, class_names: Sequence[str] | None) -> ClassMap:
    """The user's map, {from: to} or {from: [to, to]}, with class numbers instead of names.

    A string that is a number but not a class name is a class number: the keys of a TOML table are always strings.
    """
    names = {name: number for number, name in enumerate(class_names or ())}
    unknown: list[str | int] = []

    def number(which: str | int) -> int:
        if isinstance(which, str) and which in names:
            return names[which]
        if str(which).isdecimal() and int(which) < num_classes:
            return int(which)
        unknown.append(which)
        return -1

    found = {
        number(source): tuple(number(target) for target in (targets if isinstance(targets, list) else [targets]))
        for source, targets in given.items()
    }
    if unknown:
        choices = f"names {', '.join(names)} or numbers" if names else "numbers"
        raise DataError(
            f"map: no class {', '.join(map(repr, unknown))}; there are {choices} 0 to {num_classes - 1}."
            + "".join(suggestion(str(which), names) for which in unknown)
        )
    idle = [source for source, targets in found.items() if not targets or source in targets]
    if idle or not found:
        what = f"class {', '.join(map(str, idle))} is mapped to itself or to nothing" if idle else "it is empty"
        raise DataError(f"map: {what}; give other classes, {{'cat': 'dog', ...}}")
    return found


def asymmetric(
    labels: Tensor,
    num_classes: int,
    seed: int,
    class_names: Sequence[str] | None = None,
    *,
    rate: Annotated[float, Ge(0), Le(1)],
    map: Annotated[str, AfterValidator(known)] | GivenMap | None = None,
) -> Biased:
    """Change a share ``rate`` of the labels of each class in the map; other classes keep their labels.

    So fewer labels are actually wrong: on CIFAR-10, with four of ten classes in the map, 0.4 * rate.

    Examples:
        >>> biased = asymmetric(torch.arange(900) % 3, num_classes=3, seed=0, rate=0.4, map={0: 1})
        >>> biased.transition.round(decimals=1)
        tensor([[0.6000, 0.4000, 0.0000],
                [0.0000, 1.0000, 0.0000],
                [0.0000, 0.0000, 1.0000]], dtype=torch.float64)

    Args:
        labels: Shape (N,).
        class_names: Class names, required for a map of names.
        rate: Average share of wrong labels in each class of the map.
        map: A name from ``MAPS`` ("cifar10", "cifar100-next", ...), or {from: to} by class name or number; with
            several targets, {from: [to, to]}, one is drawn. By default, the usual map of well-known data.

    Raises:
        DataError: The map names an unknown class, or the rate is not in [0, 1].
    """
    check_labels(labels, num_classes)
    if map is None:
        targets = usual(num_classes, class_names)
    else:
        targets = named(map, num_classes) if isinstance(map, str) else resolved(map, num_classes, class_names)
    generator = np.random.default_rng(seed)
    where = torch.from_numpy(chosen(len(labels), rate, generator))
    draws = torch.from_numpy(generator.random(len(where)))
    after = labels.clone()
    for source, choices in targets.items():
        here = labels[where] == source
        after[where[here]] = torch.tensor(choices)[(draws[here] * len(choices)).long()]
    return compare(labels, after, num_classes)

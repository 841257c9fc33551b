"""Families in words: how large their classes are, and which classes they are."""

from collections.abc import Sequence
from typing import NamedTuple

from reweigh.report.words import listed, several

NAMES = {
    1: ("all classes",),
    2: ("small classes", "large classes"),
    3: ("small classes", "medium classes", "large classes"),
}


class Family(NamedTuple):
    """Classes that share a weighting curve.

    Attributes:
        name: Short name, such as "small classes".
        words: Number, size and names of the classes.
        learned: What its weighting curve does.
    """

    name: str
    words: str
    learned: str = ""


def describe(
    num_families: int, of_class: Sequence[int], class_names: Sequence[str], sizes: Sequence[int]
) -> list[Family]:
    """Every family, the one with the smallest classes first.

    Args:
        of_class: Family of each class.
        sizes: Training samples of each class.
    """
    families = []
    for family in range(num_families):
        members = [number for number, its in enumerate(of_class) if its == family]
        if members:
            own = [sizes[number] for number in members]
            size = f"of {'about ' if len({*own}) > 1 else ''}{several(round(sum(own) / len(own)), 'sample')}"
            names = listed([class_names[number] for number in members])
            words = f"{several(len(members), 'class', 'classes')} {size}: {names}"
        else:
            words = "none of the classes in this data"
        families.append(Family(name(family, num_families), words))
    return families


def name(family: int, num_families: int) -> str:
    """The name of a family by its rank."""
    if num_families in NAMES:
        return NAMES[num_families][family]
    ends = {0: " (smallest classes)", num_families - 1: " (largest classes)"}
    return f"family {family + 1}{ends.get(family, '')}"

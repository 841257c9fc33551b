"""Families of classes in words: how large their classes are, and which."""

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
        name: short, such as "small classes".
        words: how many classes, of what size, and their names.
        learned: what its weighting curve does.
    """

    name: str
    words: str
    learned: str = ""


def describe(
    num_families: int, of_class: Sequence[int], class_names: Sequence[str], sizes: Sequence[int]
) -> list[Family]:
    """Every family, the one with the smallest classes first.

    Args:
        of_class: the family of each class.
        sizes: training samples of each class.
    """
    families = []
    for place in range(num_families):
        members = [number for number, its in enumerate(of_class) if its == place]
        if members:
            mean = sum(sizes[number] for number in members) / len(members)
            size = f"of {'about ' if len(members) > 1 else ''}{mean:,.0f} samples"
            names = listed([class_names[number] for number in members])
            words = f"{several(len(members), 'class', 'classes')} {size}: {names}"
        else:
            words = "no class of this data"
        families.append(Family(name(place, num_families), words))
    return families


def name(family: int, num_families: int) -> str:
    """The name of a family by its place among all."""
    if num_families in NAMES:
        return NAMES[num_families][family]
    ends = {0: " (smallest classes)", num_families - 1: " (largest classes)"}
    return f"family {family + 1}{ends.get(family, '')}"

"""Numbers, names and families of classes, formatted for a reader."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from reweigh.names import listed, plural

UNKNOWN = "\N{EN DASH}"  # in a cell; sorted last
FAMILY_NAMES = {
    1: ("all classes",),
    2: ("small classes", "large classes"),
    3: ("small classes", "medium classes", "large classes"),
}


def percent(share: float) -> str:
    """A share: 86.0%; "unknown" if it is not a number."""
    return f"{100 * share:.1f}%" if math.isfinite(share) else "unknown"


def measured(name: str, value: float) -> str:
    """A metric: a share in percent, a log loss as it is."""
    return number(value) if name.endswith("log_loss") else percent(value)


def number(value: float) -> str:
    """A measured number, with three digits."""
    if not math.isfinite(value):
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def score(value: float) -> str:
    """A score from 0 to 1 with three decimals; a small one with the digits that tell it from others.

    >>> score(0.25), score(0.0012), score(3.1e-13)
    ('0.250', '0.0012', '3.1e-13')
    """
    return f"{value:.3f}" if value == 0 or value >= 0.01 else f"{value:.2g}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if not math.isfinite(seconds):
        return "unknown"
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 1.95 * length:
            return f"{seconds / length:.1f} {unit}s"
    return f"{seconds:.1f} seconds"


def judged(trained: int, held_out: int) -> str:
    """How many labels were judged, and how: those of training samples, and of samples held out for testing."""
    if not held_out:
        return f"All {trained:,} labels were judged during training."
    return (
        f"{plural(trained, 'label was', 'labels were')} judged during training, and {held_out:,} held out for testing "
        "by the final model, which has not seen them."
    )


def in_words(name: str) -> str:
    """The name of a metric: test_balanced_accuracy is "balanced accuracy"."""
    return name.removeprefix("test_").removeprefix("train_").replace("_", " ")


def sentence(text: str) -> str:
    """The text with a capital at the start and a period at the end."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."


class Family(NamedTuple):
    """Classes that share a weighting curve.

    Attributes:
        name: Short name, such as "small classes".
        learned: What its weighting curve does.
    """

    name: str
    words: str
    learned: str = ""


def describe_families(
    num_families: int, of_class: Sequence[int], class_names: Sequence[str], sizes: Sequence[int]
) -> list[Family]:
    """Every family, the one with the smallest classes first."""
    families = []
    for family in range(num_families):
        members = [number for number, its in enumerate(of_class) if its == family]
        if members:
            own = [sizes[number] for number in members]
            size = f"of {'about ' if len({*own}) > 1 else ''}{plural(round(sum(own) / len(own)), 'sample')}"
            names = listed((class_names[number] for number in members), 8)
            words = f"{plural(len(members), 'class', 'classes')} {size}: {names}"
        else:
            words = "none of the classes in this data"
        families.append(Family(family_name(family, num_families), words))
    return families


def family_name(family: int, num_families: int) -> str:
    """The name of a family by its rank."""
    if num_families in FAMILY_NAMES:
        return FAMILY_NAMES[num_families][family]
    ends = {0: " (smallest classes)", num_families - 1: " (largest classes)"}
    return f"family {family + 1}{ends.get(family, '')}"

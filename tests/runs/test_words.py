"""Numbers as a reader wants them."""

import math

import pytest

from reweigh.names import listed, plural
from reweigh.runs.words import describe_families, duration, family_name, in_words, number, percent, sentence


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 seconds"), (90, "90.0 seconds"), (180, "3.0 minutes"), (7200, "2.0 hours"), (math.nan, "unknown")],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_percent():
    assert percent(0.8604) == "86.0%"
    assert percent(math.nan) == "unknown"


def test_small_words():
    assert (number(0.012345), number(12345.6), number(math.inf)) == ("0.0123", "12,346", "unknown")
    assert (plural(1, "class", "classes"), plural(1204, "label")) == ("1 class", "1,204 labels")
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert in_words("test_balanced_accuracy") == "balanced accuracy"
    assert (sentence("it is"), sentence("Is it?")) == ("It is.", "Is it?")


def test_each_family_names_its_classes():
    small, medium, large = describe_families(3, [0, 2, 2, 1], ["cat", "dog", "bird", "fish"], [10, 1000, 1200, 300])
    assert (small.name, small.words) == ("small classes", "1 class of 10 samples: cat")
    assert medium.words == "1 class of 300 samples: fish"
    assert large.words == "2 classes of about 1,100 samples: dog, bird"


def test_a_family_without_a_class_says_so():
    assert describe_families(2, [0], ["cat"], [5])[1].words == "none of the classes in this data"


@pytest.mark.parametrize("count", range(1, 7))
def test_names_differ(count):
    assert len({family_name(family, count) for family in range(count)}) == count

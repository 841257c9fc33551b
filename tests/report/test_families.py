"""Families are told by the size and the names of their classes."""

import pytest

from reweigh.report.families import describe, name


def test_each_family_names_its_classes():
    small, medium, large = describe(3, [0, 2, 2, 1], ["cat", "dog", "bird", "fish"], [10, 1000, 1200, 300])
    assert (small.name, small.words) == ("small classes", "1 class of 10 samples: cat")
    assert medium.words == "1 class of 300 samples: fish"
    assert large.words == "2 classes of about 1,100 samples: dog, bird"


def test_a_family_without_a_class_says_so():
    assert describe(2, [0], ["cat"], [5])[1].words == "none of the classes in this data"


@pytest.mark.parametrize("count", range(1, 7))
def test_names_differ(count):
    assert len({name(family, count) for family in range(count)}) == count

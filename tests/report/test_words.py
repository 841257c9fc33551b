"""Numbers as a reader wants them."""

import math

import pytest

from reweigh.names import listed, plural
from reweigh.report.words import duration, in_words, number, percent, sentence


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 seconds"), (90, "90.0 seconds"), (180, "3.0 minutes"), (7200, "2.0 hours"), (math.nan, "unknown")],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_percent_is_never_broken_at_the_end_of_a_line():
    assert percent(0.8604) == "86.0\u00a0%"
    assert percent(math.nan) == "unknown"


def test_small_words():
    assert (number(0.012345), number(12345.6), number(math.inf)) == ("0.0123", "12,346", "unknown")
    assert (plural(1, "class", "classes"), plural(1204, "label")) == ("1 class", "1,204 labels")
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert in_words("test_balanced_accuracy") == "balanced accuracy"
    assert (sentence("it is"), sentence("Is it?")) == ("It is.", "Is it?")

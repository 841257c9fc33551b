"""What the report says where most samples have no label."""

import math
from dataclasses import replace

import numpy as np
import pytest

from reweigh.report.sections import SECTIONS
from reweigh.report.sections.training import pseudo_weights
from reweigh.runs.headline import few_labels
from reweigh.runs.tables import Samples


@pytest.fixture
def samples():
    """Two labels, one of them wrong; of four guesses three are right."""
    return Samples(
        row=np.arange(6),
        given=np.array([0, 1, -1, -1, -1, -1]),
        suggested=np.array([0, 0, 1, 1, 0, 0]),
        true=np.array([0, 0, 1, 1, 0, 1]),
    )


def test_a_missing_label_is_not_wrong_but_a_guess_may_be(samples):
    assert samples.wrong.tolist() == [False, True, False, False, False, False]
    assert samples.mistaken.tolist() == [False, True, False, False, False, True]


def test_how_many_are_labeled_and_how_many_guesses_are_right(samples):
    words = few_labels(samples).replace("\u00a0", " ")
    assert words.startswith("Only 2 of the 6 training samples have a label")
    assert words.endswith("which is right for 75.0% of them.")


@pytest.mark.parametrize(("issue", "words"), [(0, "None of the 2 training labels"), (1, "1 of 2 training labels")])
def test_labels_that_are_missing_do_not_look_wrong(account, samples, issue, words):
    looked = replace(samples, issue=np.array([False, bool(issue), *[False] * 4]), quality=np.arange(6.0))
    (panel,) = SECTIONS["suspects"]([replace(account, samples=looked)]).panels
    assert panel.words[0].startswith(words)


def test_weights_of_right_and_wrong_pseudo_labels():
    line = {"train_weight": 0.5, "train_pseudo_right": 0.75, "train_pseudo_right_weight": 0.45}
    found = pseudo_weights(line)
    assert found == {"right_weight": pytest.approx(0.6), "wrong_weight": pytest.approx(0.2)}
    assert math.isnan(pseudo_weights({**line, "train_pseudo_right": 1.0})["wrong_weight"])
    assert pseudo_weights({"train_weight": 0.5}) == {}

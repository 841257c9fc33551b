"""Votes of several labelers in their forms, and what is refused."""

import logging

import numpy as np
import pandas as pd
import pytest
import torch

from reweigh import DataError
from reweigh.issues.votes import Votes


def table(votes: Votes) -> list[tuple[int, str, object]]:
    """Sample, labeler and label of each vote."""
    return [
        (int(sample), votes.labelers[labeler], votes.classes[label].item())
        for sample, labeler, label in zip(votes.sample, votes.labeler, votes.label, strict=True)
    ]


@pytest.mark.parametrize("gap", [None, np.nan, -1, "", " -1 "])
def test_gaps_are_not_votes(gap):
    votes = Votes.of(pd.DataFrame({"ann": ["a", gap, "b"], "bob": [gap, "b", "b"]}, dtype=object))
    assert table(votes) == [(0, "ann", "a"), (1, "bob", "b"), (2, "ann", "b"), (2, "bob", "b")]


def test_numbers_stay_numbers_in_columns_with_gaps():
    votes = Votes.of(np.array([[0, np.nan], [2, 1], [np.nan, 2]]))
    assert votes.classes.tolist() == [0, 1, 2]
    assert votes.classes.dtype == np.int64
    assert table(votes) == [(0, "0", 0), (1, "0", 2), (1, "1", 1), (2, "1", 2)]


def test_wide_and_long_are_the_same():
    random = np.random.default_rng(0)
    wide = random.integers(-1, 3, (50, 4))
    rows, columns = np.nonzero(wide >= 0)
    long = pd.DataFrame({"sample": rows, "labeler": columns, "label": wide[rows, columns]}).sample(
        frac=1, random_state=0
    )
    assert table(Votes.of(wide)) == table(Votes.from_long(long, 50))


def test_samples_are_found_by_name_and_the_last_vote_counts(caplog):
    long = pd.DataFrame({"sample": ["y", "x", "y"], "labeler": ["ann"] * 3, "label": ["no", "yes", "yes"]})
    with caplog.at_level(logging.WARNING):
        votes = Votes.from_long(pd.concat([long, long[:1].assign(labeler="bob")]), ["x", "y"])
    assert table(votes) == [(0, "ann", "yes"), (1, "ann", "yes"), (1, "bob", "no")]
    assert "1 vote by a labeler who voted on the sample before; the last counts" in caplog.text


def test_probabilities_and_confidences_are_soft_votes():
    rows = pd.DataFrame({"b": [0.9, np.nan], "a": [0.1, np.nan]})
    votes = Votes.of({"llm": rows, "ann": ["a", "c"]})
    assert votes.classes.tolist() == ["a", "b", "c"]
    assert votes.soft is not None
    torch.testing.assert_close(votes.soft, torch.tensor([[0.1, 0.9, 0], [1, 0, 0], [0, 0, 1]]))
    long = pd.DataFrame({"sample": [0, 1], "labeler": 0, "label": [0, 1], "sure": [0.8, None]})
    soft = Votes.from_long(long, 2, confidence="sure").soft
    assert soft is not None
    torch.testing.assert_close(soft, torch.tensor([[0.8, 0.2], [0, 1]]))


def test_votes_of_some_samples():
    votes = Votes.of(np.array([[0, 1], [1, -1], [0, 0]]))
    assert table(votes[torch.tensor([2, 1])]) == [(0, "0", 0), (0, "1", 0), (1, "0", 1)]


@pytest.mark.parametrize(
    ("long", "options", "words"),
    [
        ({"label": ["a", "b"]}, {}, "no column 'sample', 'labeler'"),
        (
            {"sample": [0, 7], "labeler": 0, "label": ["a", "b"]},
            {},
            "1 of 2 votes are for samples that do not exist: 7",
        ),
        ({"sample": [0, 1], "labeler": 0, "label": ["a", "a"]}, {}, "all are for one class, 'a'"),
        ({"sample": [0, 1], "labeler": 0, "label": [0.5, 1.2]}, {}, "quantities, not classes"),
        ({"sample": [0, 1], "labeler": 0, "label": [None, None]}, {}, "there are none"),
        (
            {"sample": [0, 1], "labeler": 0, "label": ["a", "b"], "p": [80, 0.5]},
            {"confidence": "p"},
            "from 0 to 1, such as",
        ),
    ],
)
def test_what_is_wrong_is_said(long, options, words):
    with pytest.raises(DataError, match=words):
        Votes.from_long(pd.DataFrame(long), 2, **options)


def test_columns_of_different_lengths_and_probabilities_that_are_none_are_refused():
    with pytest.raises(DataError, match="different lengths"):
        Votes.of({"ann": ["a"], "bob": ["a", "b"]})
    with pytest.raises(DataError, match="'llm' has a row of probabilities that do not sum to 1"):
        Votes.of({"llm": pd.DataFrame({"a": [0.9], "b": [0.9]}), "ann": ["a"]})


def test_a_labeler_without_votes_is_named(caplog):
    with caplog.at_level(logging.WARNING):
        votes = Votes.of({"ann": ["a", "b"], "bob": [None, None]})
    assert "labelers without any vote: bob" in caplog.text
    assert votes.labelers == ("ann", "bob")

"""The tables of a run are read; an error names row and column of what is wrong. Suspicious samples come worst first."""

from dataclasses import replace

import numpy as np
import pytest

from reweigh.errors import DataError
from reweigh.runs.tables import Samples, read_samples, read_tested

NAMES = ["dog", "cat", "owl"]


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "table.csv"
        path.write_text(text)
        return path

    return write


def test_all_columns(file):
    samples = read_samples(
        file(
            "row,given_label,suggested_label,label_quality,is_label_issue,weight,family,loss,true_label\n"
            "0,owl,cat,0.25,True,0.5,0,1.5,cat\n1,cat,cat,0.75,False,,1,0.1,cat\n"
        ),
        NAMES,
    )
    assert samples is not None
    assert len(samples) == 2
    for found, expected in [
        (samples.given, [2, 1]), (samples.suggested, [1, 1]), (samples.quality, [0.25, 0.75]),
        (samples.issue, [True, False]), (samples.weight, [0.5, np.nan]), (samples.family, [0, 1]),
        (samples.wrong, [True, False]),
    ]:  # fmt: skip
        np.testing.assert_array_equal(found, expected)


def test_a_run_without_weights_and_verdicts(file):
    unweighed = read_samples(file("row,given_label,weight,family,is_label_issue\n0,owl,,,\n"), NAMES)
    assert unweighed is not None
    assert (unweighed.weight, unweighed.family, unweighed.issue) == (None,) * 3
    assert (unweighed.suggested, unweighed.loss, unweighed.true, unweighed.wrong, unweighed.name) == (None,) * 5


def test_candidates_and_missing_labels(file):
    samples = read_samples(file("row,given_label,candidates\n7,cat,cat|owl\n3,,dog\n"), NAMES)
    assert samples is not None
    assert (samples.row.tolist(), samples.given.tolist()) == ([7, 3], [1, -1])
    assert samples.candidates == [(1, 2), (0,)]


def test_nothing_there(file, tmp_path):
    assert read_samples(tmp_path / "absent.csv", NAMES) is None
    assert read_samples(file("row,given_label\n"), NAMES) is None
    assert read_tested(tmp_path / "absent.csv") is None


def test_all_right_or_all_wrong_is_no_split(file):
    for rows in ("0,cat,cat\n1,owl,owl\n", "0,cat,owl\n1,owl,cat\n"):
        samples = read_samples(file("row,given_label,true_label\n" + rows), NAMES)
        assert samples is not None
        assert samples.wrong is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row,label\n0,cat\n", "no column 'given_label'"),
        ("", "no column 'row', 'given_label'"),
        ("row,given_label\n0,cat\n1\n", "cannot be read as a table"),
        ("row,given_label,weight\n0,cat,0.5\n1,cat,much\n", "column 'weight', row 2: got 'much'; should be a number"),
        ("row,given_label\n0,cow\n", "column 'given_label', row 1: got 'cow'; should be the name of a class"),
        ("row,given_label\nx,cat\n", "column 'row', row 1: got 'x'; should be a whole number"),
        ("row,given_label,is_label_issue\n0,cat,maybe\n", "should be True or False"),
    ],
)
def test_broken(file, text, message):
    with pytest.raises(DataError, match=r"table\.csv: ") as error:
        read_samples(file(text), NAMES)
    assert message in str(error.value)


DRAW = np.random.default_rng(0)
FULL = Samples(
    np.arange(40) + 100, np.zeros(40, int), quality=DRAW.random(40), issue=DRAW.random(40) < 0.5, weight=DRAW.random(40)
)


def test_suspects_are_issues_by_quality():
    assert FULL.quality is not None
    assert FULL.issue is not None
    expected = sorted((index for index in range(40) if FULL.issue[index]), key=FULL.quality.__getitem__)
    assert FULL.suspects.tolist() == expected
    assert replace(FULL, issue=None).suspects.tolist() == []


def test_an_outlier_may_belong_to_no_class():
    samples = Samples(np.arange(2), np.zeros(2, int), suggested=np.array([1, 2]), outlier=np.array([True, False]))
    assert [samples.suggestion(index, NAMES.__getitem__) for index in (0, 1)] == ["cat, or none of these", "owl"]
    assert replace(samples, suggested=None).suggestion(0, NAMES.__getitem__) == ""

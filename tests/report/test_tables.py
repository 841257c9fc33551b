"""Tables of runs of every age are read; a broken one is named with row and column."""

import numpy as np
import pytest

from reweigh.errors import DataError
from reweigh.report.tables import read_samples, read_tested


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
            "index,given_label,suggested_label,label_quality,is_label_issue,weight,family,loss,true_label\n"
            "0,2,1,0.25,True,0.5,0,1.5,1\n1,1,1,0.75,False,,1,0.1,1\n"
        )
    )
    assert samples is not None
    assert len(samples) == 2
    for found, expected in [
        (samples.given, [2, 1]), (samples.suggested, [1, 1]), (samples.quality, [0.25, 0.75]),
        (samples.issue, [True, False]), (samples.weight, [0.5, np.nan]), (samples.family, [0, 1]),
        (samples.wrong, [True, False]),
    ]:  # fmt: skip
        np.testing.assert_array_equal(found, expected)


def test_an_older_run_and_one_without_weights(file):
    old = read_samples(file("index,given_label,weight\n0,2,0.5\n"))
    assert old is not None
    assert (old.suggested, old.issue, old.loss, old.true, old.wrong) == (None,) * 5
    unweighed = read_samples(file("index,given_label,weight,family,is_label_issue\n0,2,,,\n"))
    assert unweighed is not None
    assert (unweighed.weight, unweighed.family, unweighed.issue) == (None,) * 3


def test_nothing_there(file, tmp_path):
    assert read_samples(tmp_path / "absent.csv") is None
    assert read_samples(file("index,given_label\n")) is None
    assert read_tested(tmp_path / "absent.csv") is None


def test_all_right_or_all_wrong_is_no_split(file):
    for rows in ("0,1,1\n1,2,2\n", "0,1,2\n1,2,1\n"):
        samples = read_samples(file("index,given_label,true_label\n" + rows))
        assert samples is not None
        assert samples.wrong is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("index,label\n0,1\n", "no column 'given_label'"),
        ("", "no column 'index', 'given_label'"),
        ("index,given_label\n0,1\n1\n", "cannot be read as a table"),
        ("index,given_label,weight\n0,1,0.5\n1,1,much\n", "column 'weight', row 2: got 'much'; should be a number"),
        ("index,given_label\n0,cat\n", "column 'given_label', row 1: got 'cat'; should be a whole number"),
        ("index,given_label,is_label_issue\n0,1,maybe\n", "should be True or False"),
    ],
)
def test_broken(file, text, message):
    with pytest.raises(DataError, match=r"table\.csv: ") as error:
        read_samples(file(text))
    assert message in str(error.value)

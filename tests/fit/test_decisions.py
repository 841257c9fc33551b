"""Decisions of people: what counts, what they do to a data set, and what is refused."""

import pytest
import torch

from reweigh.data import Dataset
from reweigh.data.dataset import Reading
from reweigh.errors import DataError
from reweigh.files import ledger
from reweigh.fit.decisions import Decision, Decisions, with_decisions

NAMES = ("cat", "dog", "<b>")


def data(labels, origin=None, names=()):
    inputs = torch.arange(float(len(labels))).unsqueeze(1)
    return Dataset(inputs, torch.tensor(labels), NAMES, origin=origin, reading=Reading(names=names))


def decided(path, *decisions):
    file = Decisions(path / "decisions.jsonl")
    for decision in decisions:
        file.add(decision)
    return file


def test_the_last_word_of_each_counts_and_undo_returns_to_the_one_before(tmp_path):
    file = decided(
        tmp_path,
        Decision(3, "cat", "dog", "ann"),
        Decision(3, "cat", "cat", "ann"),
        Decision(3, "cat", None, "bo"),
        Decision(5, "dog", "cat", "bo"),
        Decision(5, "dog", "dog", "ann"),
    )
    assert {row: found.label for row, found in file.agreed().items()} == {3: "cat"}
    file.add(Decision(3, "cat", None, "ann", undo=True))
    file.add(Decision(5, "dog", None, "ann", undo=True))
    assert {row: found.label for row, found in file.agreed().items()} == {3: "dog", 5: "cat"}
    again = Decisions(file.path)
    assert again.agreed() == file.agreed()
    assert Decisions(file.path, 5).agreed().keys() == {3}
    for _ in range(2):  # nothing is left to undo, the second time
        file.add(Decision(3, "cat", None, "ann", undo=True))
    assert file.of(3).keys() == {"bo"}


def test_decisions_may_be_added_while_others_are_read(tmp_path):
    """The server reads them for a card while the page already decides about the next."""
    file = decided(tmp_path, Decision(3, "cat", "dog", "ann"), Decision(5, "dog", "cat", "ann"))
    reading = file.rows()
    next(reading)
    file.add(Decision(7, "cat", "dog", "ann"))
    assert [row for row, _ in reading] == [5]


def test_what_others_add_is_seen(tmp_path):
    mine, theirs = decided(tmp_path), decided(tmp_path)
    theirs.add(Decision(1, "cat", "dog", "bo"))
    assert mine.refresh()
    assert mine.of(1)["bo"].label == "dog"
    assert not mine.refresh()


def test_decided_labels_replace_given_ones_and_are_trusted(tmp_path):
    decided(tmp_path, Decision(7, "cat", "dog", "ann"), Decision(2, "dog", "dog", "ann"), Decision(4, "cat", None, "x"))
    train, test = data([0, 1, 0], torch.tensor([7, 4, 1])), data([1, 2], torch.tensor([2, 3]))
    new, judged = with_decisions((train, test), tmp_path / "decisions.jsonl")
    assert new.labels.tolist() == [1, 1, 0]
    assert new.trusted.tolist() == [True, False, False]
    assert judged.labels.tolist() == [1, 2]
    assert judged.trusted.tolist() == [True, False]
    assert new.uncorrected.tolist() == train.labels.tolist()
    assert new.subset(torch.tensor([2, 0])).trusted.tolist() == [False, True]
    assert new.subset(torch.tensor([2, 0])).uncorrected.tolist() == train.labels[[2, 0]].tolist()
    corrected = data([1, 1, 0], torch.tensor([7, 4, 1]))  # the copy that was corrected before
    again = with_decisions((corrected, test), tmp_path / "decisions.jsonl")[0]
    assert again.labels.tolist() == [1, 1, 0]
    assert again.uncorrected.tolist() == train.labels.tolist()


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([data([2, 0])], "row 0 has the label '<b>', had 'cat'"),
        ([data([0, 0], names=("a.png", "b.png"))], "row 0 is 'a.png', was ''"),
        ([data([0], torch.tensor([9]))], "decisions about 1 row that the data do not have"),
    ],
)
def test_other_data_are_refused(tmp_path, parts, words):
    decided(tmp_path, Decision(0, "cat", "dog", "ann"))
    with pytest.raises(DataError, match=words):
        with_decisions(parts, tmp_path / "decisions.jsonl")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "damaged or changed"),
        ("[]", "damaged or changed"),
        ({"row": 1}, "not a decision"),
        ({**Decision(1, "a", "b", "c")._asdict(), "row": "1"}, "not a decision"),
    ],
)
def test_a_line_that_is_not_a_decision_is_named(tmp_path, line, words):
    if isinstance(line, dict):
        ledger.append(tmp_path / "decisions.jsonl", line)
    else:
        (tmp_path / "decisions.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match=f"line 1: {words}"):
        Decisions(tmp_path / "decisions.jsonl")


def test_fewer_decisions_than_a_run_began_with_are_refused(tmp_path):
    decided(tmp_path, Decision(0, "cat", "dog", "ann"), Decision(1, "cat", "dog", "ann"))
    lines = (tmp_path / "decisions.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "decisions.jsonl").write_text(lines[0])
    with pytest.raises(DataError, match="1 decisions, but there were 2 when the run began; restore the file"):
        with_decisions([data([0, 0])], tmp_path / "decisions.jsonl", 2)


def test_nothing_to_use(tmp_path):
    with pytest.raises(DataError, match="reweigh review"):
        with_decisions([data([0])], tmp_path)
    decided(tmp_path, Decision(0, "cat", None, "ann"))
    with pytest.raises(DataError, match="contains no usable decision"):
        with_decisions([data([0])], tmp_path)

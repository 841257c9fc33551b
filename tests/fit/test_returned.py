"""Files that the tools themselves wrote, after labels of a run were sent to them and decided about there.

The files of ``returned/`` are shortened exports. Label Studio ran as a server and was used by its API; records of
Argilla and FiftyOne's importer and exporter ran without their databases.
"""

import json
from pathlib import Path

import pytest

from reweigh.errors import DataError
from reweigh.fit.decisions import Decisions, decisions_file
from reweigh.fit.returned import LEAVE_OUT, read_returned

WRITTEN = Path(__file__).parent / "returned"
ROWS_OF_DATASETS = [(12, "blue & co", "red"), (18, "blue & co", "red")]  # a row that kept its label decides nothing
ROWS_OF_LABEL_STUDIO = [(174, "red", LEAVE_OUT), (228, "red", "red"), (132, "red", "blue & co")]
DECIDED = {
    "argilla-2.8.0.json": [(174, "red", LEAVE_OUT), (228, "red", "blue & co"), (168, "red", "blue & co")],
    "datasets-5.2.0.csv": ROWS_OF_DATASETS,
    "datasets-5.2.0.jsonl": ROWS_OF_DATASETS,
    "fiftyone-1.22.1.json": [(0, "blue & co", LEAVE_OUT), (102, "blue & co", "red"), (108, "blue & co", "red")],
    "label-studio-1.23.2.csv": ROWS_OF_LABEL_STUDIO,
    "label-studio-1.23.2-min.json": ROWS_OF_LABEL_STUDIO,
    "label-studio-1.23.2.json": ROWS_OF_LABEL_STUDIO,  # of its four tasks, one was skipped
}


@pytest.mark.parametrize("name", DECIDED)
def test_what_was_decided_in_a_tool_is_read(name):
    found = read_returned(WRITTEN / name)
    assert [(each["row"], each["given"], each["label"] or LEAVE_OUT) for each in found] == DECIDED[name]
    assert all(each["label"] or each["exclude"] == "no-class" for each in found)
    assert sorted(DECIDED) == sorted(path.name for path in WRITTEN.iterdir())


def test_a_list_with_decisions_in_words(tmp_path):
    """The list of ``reweigh issues --out`` with the column ``decision``."""
    words = ["accept", "Reject", "exclude", "", "cat", "yes"]
    lines = [f"{row},dog,{'yes' if word == 'yes' else 'cat'},{word}" for row, word in enumerate(words)]
    (tmp_path / "issues.csv").write_text("\n".join(["row,given_label,suggested_label,decision", *lines]))
    found = {each["row"]: each["label"] for each in read_returned(tmp_path / "issues.csv")}
    assert found == {0: "cat", 1: "dog", 2: None, 4: "cat", 5: "yes"}


def test_labels_without_what_names_the_sample(tmp_path):
    """FiftyOne exports this by default."""
    (tmp_path / "labels.json").write_text('{"classes": null, "labels": {"109": "cat"}}')
    with pytest.raises(DataError, match=r"no given_label.*include_attributes=True"):
        read_returned(tmp_path / "labels.json")


def test_a_label_that_is_a_number(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"row": 1, "given_label": "dog", "label": 0}')
    with pytest.raises(DataError, match="must be strings, got '', 'dog' and 0"):
        read_returned(tmp_path / "rows.jsonl")


def test_what_a_tool_no_longer_says_is_taken_back(tmp_path):
    file = tmp_path / "labels.json"

    def imported(**said: str) -> dict[int, str | None]:
        file.write_text(
            json.dumps([{"row": int(row[1:]), "given_label": "a", "label": label} for row, label in said.items()])
        )
        return {row: found.label for row, found in Decisions(decisions_file(file)).agreed().items()}

    assert imported(r1="b", r2="b", r99="b") == {1: "b", 2: "b", 99: "b"}
    assert imported(r1="b", r2="c", r99="c") == {1: "b", 2: "c", 99: "c"}
    assert imported(r1="b", r2="c") == {1: "b", 2: "c"}
    lines = Decisions(decisions_file(file)).count
    assert imported(r1="b", r2="c") == {1: "b", 2: "c"}
    assert Decisions(decisions_file(file)).count == lines  # nothing new, nothing written

"""Suspicious labels leave for other tools and come back as decisions, in the formats of these tools."""

import csv
import json
import shutil
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from typer.testing import CliRunner

from reweigh.cli.app import app
from reweigh.fit.decisions import Decisions, decisions_file


def call(*words, code=0):
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("exchange")
    random = np.random.default_rng(0)
    kinds = np.arange(200) % 2
    values = kinds * 4 + random.normal(size=200)
    kinds[::10] = 1 - kinds[::10]
    rows = "".join(f"{value:.4f},{('<a>', 'b & c')[kind]}\n" for value, kind in zip(values, kinds, strict=True))
    (path / "table.csv").write_text("size,kind\n" + rows)
    call("train", "--data", path / "table.csv", "--label", "kind", "--out", path / "run", "train.epochs=4")
    return path


@pytest.fixture
def folder(trained, tmp_path):
    shutil.copytree(trained / "run", tmp_path / "run")
    return tmp_path


def as_label_studio(tasks, choose):
    return [
        {
            "id": place,
            "data": task["data"],
            "annotations": [
                {"completed_by": {"id": 7, "email": "ann@example.org"}, "was_cancelled": False, "result": [result]}
                for result in task["predictions"][0]["result"]
                if result["value"].update(choices=[choose(place, result["value"]["choices"][0])]) is None
            ],
        }
        for place, task in enumerate(tasks)
    ]


def as_argilla(records, choose):
    for place, record in enumerate(records):
        value = choose(place, record["suggestions"]["label"]["value"])
        record |= {"responses": {"label": [{"value": value, "user_id": "4f6c"}]}, "status": "completed"}
    return records


def as_hf(rows, choose):
    doubted = sorted((row for row in rows if row["is_label_issue"]), key=lambda row: row["label_quality"])
    for place, row in enumerate(doubted):
        row["label"] = choose(place, row["suggested_label"])
    return rows


@pytest.mark.parametrize(
    ("tool", "answer"), [("label-studio", as_label_studio), ("argilla", as_argilla), ("hf", as_hf)]
)
def test_a_round_trip(folder, trained, tool, answer):
    """What was chosen in the tool is in the corrected copy, row by row, and nothing else changes."""
    out = folder / ("tasks.jsonl" if tool == "hf" else "tasks.json")
    assert "--reviewed FILE" in call("issues", folder / "run", "--to", tool, "--out", out)
    text = out.read_text()
    sent = [json.loads(line) for line in text.splitlines()] if tool == "hf" else json.loads(text)
    back = answer(sent, lambda place, suggested: "(leave out)" if place == 0 else suggested)
    returned = folder / f"returned{out.suffix}"
    returned.write_text("\n".join(map(json.dumps, back)) if tool == "hf" else json.dumps(back))

    issues = folder / "issues.csv"
    call("issues", folder / "run", "--out", issues)
    with open(issues, newline="") as file:
        expected = list(csv.DictReader(file))
    copy = folder / "copy.csv"
    call("issues", folder / "run", "--apply", copy, "--apply-from", returned)
    lines = (trained / "table.csv").read_text().splitlines()
    for issue in expected[1:]:
        row = int(issue["row"]) + 1
        lines[row] = lines[row].split(",")[0] + "," + issue["suggested_label"]
    del lines[int(expected[0]["row"]) + 1]
    assert copy.read_text().splitlines() == lines
    count = Decisions(decisions_file(returned)).count
    assert count == len(expected)
    assert Decisions(decisions_file(returned)).count == count  # read again, nothing is added
    call("train", folder / "run", "--reviewed", returned, "--out", folder / "again", "train.epochs=4")


def test_the_labeling_interface_offers_every_class(folder):
    call("issues", folder / "run", "--to", "label-studio", "--out", folder / "tasks.json")
    view = ET.parse(folder / "tasks.xml").getroot()
    assert [each.get("value") for each in view.iter("Choice")] == ["<a>", "b & c", "(leave out)"]
    tasks = json.loads((folder / "tasks.json").read_text())
    prediction = tasks[0]["predictions"][0]
    assert 0 <= prediction["score"] <= 1
    names = {view.find("Choices").get("name"), view.find("Text").get("name")}
    assert {prediction["result"][0]["from_name"], prediction["result"][0]["to_name"]} == names
    assert view.find("Text").get("value").removeprefix("$") in tasks[0]["data"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([{"data": {"text": "x"}, "annotations": [{"result": []}]}], "1 sample without a row, name or given_label"),
        ([{"data": {"row": 0, "given_label": "<a>"}, "annotations": []}], "no label that somebody chose"),
        ({"a": 1}, "not a file of Label Studio"),
        ([{"row": 2, "given_label": "<a>", "label": "zebra"}], "zebra"),
        ([{"row": 10**6, "given_label": "<a>", "label": "b & c"}], "1 row that the data do not have"),
        ([{"row": 0, "given_label": "wrong", "label": "<a>"}], "row 0"),
        ([{"row": 1, "given_label": "<a>"}], "no column 'label'"),
    ],
)
def test_what_does_not_fit_is_named(folder, content, said):
    (folder / "back.json").write_text(json.dumps(content))
    words = ["train", folder / "run", "--reviewed", folder / "back.json", "--out", folder / "again"]
    assert said in call(*words, code=2)
    assert not (folder / "again").exists()


def test_wishes_that_cannot_be_met(folder):
    assert "unknown" in call("issues", folder / "run", "--to", "excel", "--out", folder / "a.json", code=2)
    assert "--out" in call("issues", folder / "run", "--to", "argilla", code=2)
    assert "images" in call("issues", folder / "run", "--to", "fiftyone", "--out", folder / "a.json", code=2)
    assert ".jsonl" in call("issues", folder / "run", "--to", "hf", "--out", folder / "a.json", code=2)

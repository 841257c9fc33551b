"""A table as people have it, from ``inspect`` to corrected labels and predictions."""

import csv

import numpy as np
import pandas as pd
import pytest

from reweigh.fit.run_folder import load_model
from reweigh.report.sections.labels import suspects
from reweigh.runs.read import read_accounts

N = 300


@pytest.fixture(scope="module")
def messy(tmp_path_factory):
    """A folder with table.csv (semicolons, decimal commas, a leak, sorted by label) and a run on it."""
    from typer.testing import CliRunner

    from reweigh.cli.app import app

    folder, draw = tmp_path_factory.mktemp("messy"), np.random.default_rng(0)
    truth = np.sort(draw.integers(0, 3, N))
    names = np.array(["gold", "silver", "tin"])
    labels = names[np.where(draw.random(N) < 0.1, (truth + 1) % 3, truth)].tolist()
    labels[3], labels[4], labels[5], labels[250] = "Gold", "GOLD ", "?", "lead"
    frame = pd.DataFrame(
        {
            "id": [f"P{row:04}" for row in range(N)],
            "price": [f"€ {value:.2f}".replace(".", ",") for value in draw.normal(20 + 9 * truth, 3)],
            "size": [f"{value:.1f}".replace(".", ",") for value in draw.normal(5 * truth, 2)],
            "code": [label.strip().lower()[:2] for label in labels],
            "kind": labels,
        }
    )
    frame.to_csv(folder / "table.csv", sep=";", index=False, encoding="cp1252")
    words = ["--label", "kind", "--join-labels", "--drop", "code", "--out", str(folder / "run"), "train.epochs=8"]
    result = CliRunner().invoke(app, ["train", "--data", str(folder / "table.csv"), *words])
    assert result.exit_code == 0, result.output
    (folder / "told.txt").write_text(result.stdout)
    return folder


def rows_of(path, separator=","):
    with open(path, newline="", encoding="cp1252") as file:
        return list(csv.DictReader(file, delimiter=separator))


def test_how_columns_are_read_is_printed_and_stored(messy):
    told = (messy / "told.txt").read_text()
    assert "How the columns are read" in told
    assert "only names the rows" in told
    assert "decimal comma; in €" in told
    assert "Classes of one or two samples: lead. They are kept" in told
    stored = load_model(messy / "run").inputs.encoding.readings
    assert {read.name: read.kind for read in stored} == {
        "id": "drop",
        "price": "number",
        "size": "number",
        "code": "drop",
    }


def test_every_row_with_a_label_is_judged(messy, run):
    judged = [int(row["row"]) for part in ("samples", "held_out") for row in rows_of(messy / "run" / f"{part}.csv")]
    assert sorted(judged) == [row for row in range(N) if row != 5]
    unseen = rows_of(messy / "run" / "held_out.csv")
    assert all(0 <= float(row["label_quality"]) <= 1 for row in unseen)
    table = rows_of(messy / "table.csv", ";")
    assert all(row["given_label"].lower() == table[int(row["row"])]["kind"].strip().lower() for row in unseen)
    how = f"{N - 1 - len(unseen)} labels were judged during training, and {len(unseen)} held out for testing"
    assert how in run("issues", messy / "run").stdout
    told = " ".join((messy / "told.txt").read_text().split())
    assert how in told


def test_the_report_shows_held_out_labels_too_and_says_how_they_were_judged(messy):
    (account,) = read_accounts([messy / "run"])
    found = suspects([account]).panels[0]
    unseen = {row["row"] for row in rows_of(messy / "run" / "held_out.csv") if row["is_label_issue"] == "True"}
    assert f"So do {len(unseen)} of the {len(account.held_out)} labels that were held out" in found.words[1]
    marked = {card.title.split()[1] for card in found.cards if ("held out", "judged by the final model") in card.facts}
    assert marked == unseen & {card.title.split()[1] for card in found.cards}
    assert marked
    assert len(found.table.rows) == len(account.samples.suspects) + len(unseen)


def test_apply_changes_what_is_asked_for_and_says_what(messy, run, tmp_path):
    result = run("issues", messy / "run", "--apply", tmp_path / "top.csv", "--top", 4)
    assert result.exit_code == 0, result.output
    assert "4 of 299 labels change" in result.stdout
    before, after = ((path).read_bytes().split(b"\n") for path in (messy / "table.csv", tmp_path / "top.csv"))
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 4
    flagged = len(rows_of_issues(run, messy, tmp_path))
    doubted = run("issues", messy / "run", "--apply", tmp_path / "doubt.csv", "--min-doubt", 0.9, "--yes")
    assert doubted.exit_code == 0, doubted.output
    assert int(doubted.stdout.split(" of 299")[0].split()[-1]) <= flagged


def rows_of_issues(run, messy, tmp_path):
    run("issues", messy / "run", "--out", tmp_path / "issues.csv")
    return rows_of(tmp_path / "issues.csv")


def test_a_reviewed_list_is_applied(messy, run, tmp_path):
    first, second, third = rows_of_issues(run, messy, tmp_path)[:3]
    lines = [(first["row"], "accept"), (second["row"], "reject"), (third["row"], "lead"), ("0", "")]
    (tmp_path / "reviewed.csv").write_text("row,decision\n" + "".join(f"{row},{word}\n" for row, word in lines))
    result = run("issues", messy / "run", "--apply", tmp_path / "new.csv", "--apply-from", tmp_path / "reviewed.csv")
    assert result.exit_code == 0, result.output
    old, new = rows_of(messy / "table.csv", ";"), rows_of(tmp_path / "new.csv", ";")
    changed = {row: new[row]["kind"] for row in range(N) if old[row] != new[row]}
    assert changed == {int(first["row"]): first["suggested_label"], int(third["row"]): "lead"}


def test_no_class_vanishes_without_a_word(messy, run, tmp_path):
    (tmp_path / "r.csv").write_text("row,decision\n250,tin\n")
    words = ["issues", messy / "run", "--apply", tmp_path / "new.csv", "--apply-from", tmp_path / "r.csv"]
    result = run(*words)
    assert result.exit_code == 2
    assert "no sample would be left of class 'lead'; nothing was written" in result.stderr
    assert not (tmp_path / "new.csv").exists()
    assert run(*words, "--yes").exit_code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row,decision\n999,accept\n", "line 2: row 999 is not a sample that the run judged"),
        (
            "row,decision\n1,golf\n",
            "'golf'; give accept, reject, exclude or a class (gold, lead, silver, tin). Did you",
        ),
        ("row,label\n1,gold\n", "it needs the columns row (or name) and decision"),
    ],
)
def test_a_bad_review(messy, run, tmp_path, text, message):
    (tmp_path / "r.csv").write_text(text)
    result = run("issues", messy / "run", "--apply", tmp_path / "new.csv", "--apply-from", tmp_path / "r.csv")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_options_of_apply_need_it(messy, run):
    assert "need --apply" in run("issues", messy / "run", "--yes").stderr


def test_predictions_have_ids_probabilities_and_an_accuracy(messy, run, tmp_path):
    result = run("predict", messy / "run", messy / "table.csv", "--out", tmp_path / "p.csv", "--proba")
    assert result.exit_code == 0, result.output
    found = rows_of(tmp_path / "p.csv")
    assert [row["id"] for row in found] == [f"P{row:04}" for row in range(N)]
    for row in found[:5]:
        shares = {name: float(row[f"p({name})"]) for name in ("gold", "lead", "silver", "tin")}
        assert sum(shares.values()) == pytest.approx(1, abs=1e-4)
        assert max(shares, key=shares.__getitem__) == row["predicted"]
    labels = [row["kind"].strip().lower() for row in rows_of(messy / "table.csv", ";")]
    known = [row["predicted"] == label for row, label in zip(found, labels, strict=True) if label != "?"]
    right = np.mean(known)
    assert f"accuracy {right:.1%}" in result.stdout
    (tmp_path / "none.csv").write_text("id;price;size\n")
    assert run("predict", messy / "run", tmp_path / "none.csv", "--out", tmp_path / "n.csv").exit_code == 0
    assert (tmp_path / "n.csv").read_text() == "row,id,predicted,probability\n"


def test_predict_warns_of_what_training_did_not_have(messy, run, tmp_path, caplog):
    (tmp_path / "new.csv").write_text("price,size\n99999.0,3.5\ncheap,1.5\n3.0,2\n")
    assert run("predict", messy / "run", tmp_path / "new.csv").exit_code == 0
    assert "column 'price': 1 value far outside" in caplog.text
    assert "column 'price': 1 not a number, such as 'cheap'" in caplog.text


def test_inspect_finds_leaks_and_order_and_ends_in_a_command_that_works(messy, run, tmp_path, monkeypatch):
    result = run("inspect", messy / "table.csv", "--label", "kind", "--join-labels")
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "Column 'code' alone predicts" in told
    assert "The rows are in the order of their labels" in told
    assert "Column 'price'" not in told
    command = result.stdout.strip().splitlines()[-1].split()
    assert command[:3] == ["reweigh", "train", "--data"]
    monkeypatch.chdir(tmp_path)
    trained = run(*command[1:], "train.epochs=1", "method.name=erm")
    assert trained.exit_code == 0, trained.output


def test_inspect_refuses_nothing(tmp_path, run, images):
    from PIL import Image

    (tmp_path / "one.csv").write_text("a,b\n1,x\n2,x\n")
    result = run("inspect", tmp_path / "one.csv", "--label", "b")
    assert result.exit_code == 0
    assert "It cannot be used for training as it is" in result.stdout
    assert "only one class" in result.stdout
    Image.new("L", (9, 5)).save(images / "dog" / "other.png")
    assert run("inspect", images).exit_code == 0
    for photo in (images / "dog").iterdir():
        photo.unlink()
    result = run("inspect", images)
    assert result.exit_code == 0, result.output
    assert "class 'dog': it is empty; add images or remove the folder" in " ".join(result.stdout.split())
    for photo in (images / "cat").iterdir():
        photo.unlink()
    assert run("inspect", images).exit_code == 2


def test_inspect_of_labels_in_several_spellings_recommends_to_join_them(messy, run):
    result = run("inspect", messy / "table.csv", "--label", "kind")
    assert result.stdout.strip().splitlines()[-1].endswith("--label kind --join-labels")


def test_contradictions(messy, run):
    words = ["inspect", messy / "table.csv", "--label", "kind"]
    assert "column 'kind' is the label; keep it" in " ".join(run(*words, "--drop", "kind").output.split())
    one_column = " ".join(run(*words, "--sep", ",").output.split())
    assert "With only one column, the separator is probably another one (--sep)" in one_column
    forgotten = run("issues", messy / "run", "--apply", "--top", "5")
    assert forgotten.exit_code == 2
    assert "--apply: a value is missing before --top" in forgotten.stderr


def test_wrong_kinds_name_their_columns(messy, run):
    words = ["--label", "kind", "data.columns.size=words", "data.columns.price=numbr"]
    result = run("train", "--data", messy / "table.csv", *words)
    assert result.exit_code == 2
    assert "data.columns.size: got 'words'" in result.stderr
    assert "data.columns.price: got 'numbr'" in result.stderr


def test_compare_needs_a_recipe_or_data(run):
    assert "give either a recipe, such as demo, or your own data" in run("compare").stderr
    assert "need --data" in run("compare", "demo", "--sep", ";").stderr

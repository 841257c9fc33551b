"""A run folder in any state becomes an account; errors name what cannot be read, and nothing is changed."""

import json
import math
import re

import pytest

from reweigh.errors import DataError, RecipeError
from reweigh.runs.read import read_account, read_accounts


def test_a_run_holds_everything(account):
    assert (account.status, account.epochs, len(account.history)) == ("finished", 2, 2)
    assert account.samples is not None
    assert len(account.samples) == sum(account.classes.sizes) == 1257
    assert account.tested is not None
    assert len(account.tested.label) == 540
    assert account.classes.names == tuple("0123456789")
    assert account.net is not None
    assert set(account.classes.families) == set(range(account.net.num_families))
    assert account.dataset is not None
    assert account.best == max(account.history, key=lambda line: line["test_accuracy"])
    assert account.seconds == pytest.approx(sum(line["seconds"] for line in account.history))


def test_nothing_in_the_folder_is_touched(run):
    (run / ".summary.json.1.part").write_text("of a process that is writing")
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    read_account(run, "run")
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_without_the_data_the_rest_is_known(run, account):
    text = (run / "recipe.toml").read_text()
    gone = '[data]\nname = "mnist"\nroot = "nowhere"\n\n'
    (run / "recipe.toml").write_text(re.sub(r"(?s)\[data\].*?\n\n", gone, text))
    lost = read_account(run, "lost")
    assert lost.dataset is None
    assert "nowhere" in lost.no_data
    assert lost.classes == account.classes
    assert lost.samples is not None
    assert (lost.samples.row == account.samples.row).all()


def test_without_predictions_for_the_test_samples(run):
    (run / "test.csv").unlink()
    assert read_account(run, "untested").tested is None


def test_other_data_in_the_place_of_the_runs(run):
    lines = (run / "samples.csv").read_text().splitlines()
    row, given, rest = lines[1].split(",", 2)
    lines[1] = f"{row},{7 if given != '7' else 8},{rest}"
    (run / "samples.csv").write_text("\n".join(lines) + "\n")
    changed = read_account(run, "changed")
    assert changed.dataset is None
    assert "no longer those of the run" in changed.no_data


def test_a_text_in_the_place_of_a_class_name_is_cut(run):
    classes = json.loads((run / "classes.json").read_text())
    (run / "classes.json").write_text(json.dumps({**classes, "names": ["x" * 5000, *classes["names"][1:]]}))
    (run / "samples.csv").unlink()  # which names the classes too
    assert max(map(len, read_accounts([run])[0].classes.names)) == 60


def test_a_number_that_is_not_finite(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    lines[1]["train_loss"], lines[0]["test_accuracy"] = None, math.nan
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_account(run, "broken")
    assert math.isnan(found.history[1]["train_loss"])
    assert math.isnan(found.history[0]["test_accuracy"])
    assert found.best["epoch"] == 2


def test_runs_on_the_same_data_share_them_and_names_are_unique(trained, run):
    first, second = read_accounts([trained["cmw-net"], trained["erm"], trained["erm"]])
    assert first.dataset is second.dataset
    assert [first.name, second.name] == ["cmw-net", "erm"]
    again = trained["cmw-net"].parent / "other" / "cmw-net"
    again.parent.mkdir()
    run.rename(again)
    assert [each.name for each in read_accounts([trained["cmw-net"], again])] == [str(trained["cmw-net"]), str(again)]


@pytest.mark.parametrize("file", ["summary.json", "classes.json", "metrics.jsonl"])
def test_a_broken_file_is_named(run, file):
    (run / file).write_text("[1, 2]\n{]\n")
    with pytest.raises(DataError, match=re.escape(str(run / file))):
        read_account(run, "run")


def test_no_run_and_a_run_of_a_newer_version(run, tmp_path):
    with pytest.raises(DataError, match="there is no run here"):
        read_account(tmp_path, "none")
    with open(run / "recipe.toml", "a") as recipe:
        recipe.write("\n[quantum]\nentangled = true\n")
    with pytest.raises(RecipeError, match=r"(?s)quantum.*newer version of reweigh.*update"):
        read_account(run, "newer")

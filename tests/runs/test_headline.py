"""The first sentences are right, whatever state the run is in."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from reweigh.issues.verdict import Finding
from reweigh.report.page import comparison, key_numbers
from reweigh.runs.headline import about, headline, reached


def test_headline(account):
    reached = account.history[-1]["test_accuracy"]
    found = int(account.samples.issue.sum())
    assert headline(account).replace("\u00a0", " ") == (
        f"{found:,} of 1,257 labels look wrong ({100 * found / 1257:.1f}%). "
        f"The model (cmw-net) reaches {100 * reached:.1f}% on the test set."
    )


def test_headline_of_a_claim_and_of_a_part_that_was_held_out(account, tmp_path):
    source = account.recipe.source
    run = Path(shutil.copytree(account.path, tmp_path / "run"))
    (run / "SHA256SUMS").unlink()
    stored = json.loads((run / "classes.json").read_text())
    stored["finding"] = Finding(
        [0.2] * 10, [0.1] * 10, [0.3] * 10, "Some are wrong. Done.", "Some are wrong."
    )._asdict()
    (run / "classes.json").write_text(json.dumps(stored))
    held_out = replace(source, name="files", options={"path": "table.csv", "test": None})
    unseen = replace(account.samples, issue=np.ones(len(account.samples), bool))
    mine = replace(account, path=run, recipe=replace(account.recipe, data=held_out), held_out=unseen)
    first, second, third = headline(mine).replace("\u00a0", " ").split(". ")
    found = int(account.samples.issue.sum()) + len(unseen)
    assert first.startswith(f"{found:,} of 2,514 labels look wrong (")
    assert second == "Some are wrong"
    assert third.endswith("of the held-out labels; some of these may be wrong too.")
    finding = Finding(**stored["finding"])
    unsure = replace(mine, classes=replace(mine.classes, finding=finding._replace(low=[0.0] * 10)))
    last = dict(account.history[-1], test_accuracy=0.75, true_accuracy=1.02, true_accuracy_error=0.05)
    unsure = replace(unsure, history=[*account.history[:-1], last])
    said = "since some of these may be wrong, it is right for 57.3% to 100.0% of them."
    assert reached(unsure).replace("\u00a0", " ").endswith(said)
    sure = replace(unsure, classes=replace(mine.classes, finding=finding))
    assert reached(sure).replace("\u00a0", " ").endswith("on true labels it would be about 100.0% (93.8% to 100.0%).")


def test_a_model_that_doubts_most_labels_is_in_doubt_itself(account):
    for share, weak in ((0.4, False), (0.6, True)):
        issue = np.arange(len(account.samples)) < share * len(account.samples)
        said = headline(replace(account, samples=replace(account.samples, issue=issue)))
        assert ("a weak model, not bad labels" in said) == weak


def test_data_bias_and_time(account):
    text = " ".join(about(account)).replace("\u00a0", " ")
    wrong = int((account.samples.given != account.samples.true).sum())
    for words in [
        "digits, asymmetric (rate=0.4, map=digits)",
        "1,257 training samples in 10 classes of 65 to 188, and 540 test samples",
        f"{wrong} training labels ({100 * wrong / 1257:.1f}%) are wrong",
        "2 epochs took",
    ]:
        assert words in text
    assert "not finished" not in text


def test_a_run_that_is_not_finished_or_broken_or_untested(account):
    stopped = replace(account, status="interrupted", epochs=40)
    assert "after epoch 2 of 40" in headline(stopped)
    assert "not finished (interrupted, 2 of 40 epochs)" in " ".join(about(stopped))
    assert "has not finished an epoch yet" in headline(replace(account, history=[]))
    lost = replace(account, history=[{**account.history[0], "test_accuracy": math.nan}])
    assert "no valid test result" in headline(lost)
    untested = replace(account, history=[{"epoch": 1, "seconds": 1.0}], samples=None)
    assert headline(untested) == "cmw-net was trained without a test set."
    assert untested.best == {}


def test_comparison(account, plain):
    table = comparison([account, plain, replace(plain, history=[], samples=None)])
    names = [column.name for column in table.columns]
    best = max(line["test_accuracy"] for line in account.history)
    assert table.rows[0][names.index("accuracy, best epoch")] == f"{100 * best:.1f}%"
    assert table.rows[2][2:] == ["\N{EN DASH}"] * (len(names) - 2)
    assert {len(row) for row in table.rows} == {len(names)}
    judged = replace(plain, history=[{**line, "judge_keeps": 1.0} for line in plain.history])
    kept = [column.name for column in comparison([account, judged]).columns].index("accuracy, kept epoch")
    assert comparison([account, judged]).rows[1][kept] == f"{100 * plain.history[0]['test_accuracy']:.1f}%"


def test_key_numbers(account):
    assert dict(key_numbers(account))["training samples"] == "1,257"
    assert len(key_numbers(replace(account, history=[], samples=None))) == 1

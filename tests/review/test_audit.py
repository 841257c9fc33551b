"""An audit on the page, from Python and on the command line: drawn at random, blind, continued, by two people."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from reweigh import RobustClassifier
from reweigh.cli.app import app
from reweigh.errors import DataError
from reweigh.fit.decisions import Decision, Decisions
from reweigh.review import of_run
from reweigh.review.session import Session
from reweigh.runs.audit import RunAudit, audited, claim
from reweigh.runs.headline import headline
from reweigh.runs.read import read_account


def queue(session, wanted):
    """Indices of the samples that the wall shows, in order."""
    return [index for group in session.wall(wanted) for index in group["index"]]


def session(run, n=20, reviewer="ann"):
    return Session(of_run(run), reviewer, n)


def truth(run):
    """The true label of each sample of the run, which the data know."""
    return of_run(run).samples.true


def decide(found, count, true):
    for index in queue(found, {})[:count]:
        found.decide(index, int(true[index]))


def test_samples_are_drawn_at_random_and_shown_without_a_verdict(run):
    found = session(run)
    drawn = queue(found, {})
    assert len(drawn) == 20
    suspicious = found.subject.samples.issue[drawn]
    assert 0 < suspicious.sum() < 20
    for index in drawn:
        card = found.cards.card(index)
        assert (card["suggested"], card["quality"], card["weight"]) == (-1, None, None)
    assert found.start()["audit"]
    assert not Session(of_run(run), "ann").start()["audit"]


def test_an_audit_can_be_stopped_continued_and_extended(run):
    true, first = truth(run), session(run)
    whole = queue(first, {})
    decide(first, 8, true)
    again = session(run, 30)
    assert queue(again, {})[:12] == whole[8:]
    assert again.progress()["audit"] | {"words": ""} == {"n": 30, "decided": 8, "words": ""}
    decide(again, 22, true)
    assert queue(again, {}) == []
    found = audited(run)
    assert found.decided == 30
    wrong = of_run(run).samples.given != true
    assert found.wrong.low <= wrong.mean() <= found.wrong.high
    assert str(found) == again.progress()["audit"]["words"]


def test_what_was_reviewed_before_is_known_and_what_is_reviewed_later_is_not_asked_again(run):
    true, review = truth(run), Session(of_run(run), "ann")
    reviewed = queue(review, {})[:60]
    for index in reviewed:
        review.decide(index, int(true[index]))
    assert audited(run) is None
    audit = session(run, 50)
    drawn = queue(audit, {})
    assert not set(drawn) & set(reviewed)
    decide(audit, 10, true)
    review.decide(drawn[10], int(true[drawn[10]]))  # drawn next, but decided about in the review
    review.decide(drawn[30], int(true[drawn[30]]))
    assert drawn[10] not in queue(audit, {})
    assert audited(run).decided == 11  # the other one does not count before it is reached
    lines = [json.loads(line) for line in (run / "decisions.jsonl").read_text().splitlines()]
    assert sum(line["audit"] for line in lines) == 10
    known = Decisions(run / "decisions.jsonl").before_audit
    assert known is not None
    assert len(known) == 60


def test_two_people_who_disagree_widen_the_limits(run):
    true, ann, ben = truth(run), session(run, 40), session(run, 40, "ben")
    assert queue(ann, {}) == queue(ben, {})
    decide(ann, 40, true)
    alone = audited(run)
    for index in queue(ben, {})[:5]:
        ben.decide(index, int((true[index] + 1) % 10))
    both = audited(run)
    assert (both.decided, both.unsure) == (35, 5)
    assert both.wrong.high - both.wrong.low > alone.wrong.high - alone.wrong.low


def test_undo_takes_a_decision_back(run):
    found = session(run)
    drawn = queue(found, {})
    decide(found, 1, truth(run))
    found.undo(drawn[0])
    assert queue(found, {}) == drawn
    assert audited(run) is None


def test_the_command_prints_what_was_found(run):
    runner = CliRunner()
    before = runner.invoke(app, ["audit", str(run), "--n", "0"])
    assert before.exit_code == 0
    assert "Nothing was decided yet" in before.output
    decide(session(run, 30), 30, truth(run))
    after = runner.invoke(app, ["audit", str(run), "--n", "30", "--as", "ann"])  # all are decided, so nothing is served
    assert after.exit_code == 0
    assert "Audited:" in after.output
    assert "by 30 decisions" in after.output
    assert f"reweigh train --reviewed {run}" in after.output.replace("\n", " ")


def test_every_face_uses_the_audit_from_then_on(run):
    assert "Audited" not in claim(run)
    decide(session(run, 30), 30, truth(run))
    said = claim(run)
    assert said.startswith("Audited: ")
    assert headline(read_account(run, "run")).startswith(said)
    printed = CliRunner().invoke(app, ["issues", str(run), "--top", "1"]).output
    assert said in " ".join(printed.split())
    again = shutil.copytree(run, run.with_name("again"))  # as if trained with these decisions
    (again / "decisions.jsonl").unlink()
    (again / "SHA256SUMS").unlink()
    recipe = (again / "recipe.toml").read_text()
    (again / "recipe.toml").write_text(recipe.replace("[data]", f'[data]\nreviewed = "{run}/decisions.jsonl"', 1))
    assert claim(again) == f"Before the review: {said}"


def test_more_labels_than_there_are(run):
    count = int(of_run(run).samples.labeled.sum())
    assert session(run, 10**6).progress()["audit"]["n"] == count
    with pytest.raises(DataError, match="audit: got 0; give the number of labels"):
        session(run, 0)


def test_a_fitted_classifier_is_audited_in_a_notebook_and_on_the_page(tmp_path):
    rng = np.random.default_rng(0)
    true = np.arange(200) % 2
    X = pd.DataFrame({"size": rng.normal(true, 0.3), "other": rng.normal(size=200)}, index=range(500, 700))
    y = np.where(np.arange(200) % 5 == 0, 1 - true, true)
    classifier = RobustClassifier("erm", epochs=4, random_state=0).fit(X, y)
    audit = classifier.audit(n=60)
    found = audit.estimate(true[np.array(audit.rows) - 500])
    assert found.wrong.low <= 0.2 <= found.wrong.high
    review = classifier.review(X, tmp_path / "mine.jsonl", "ann", audit=60)
    try:
        assert review.audited() is None
        decide(review.session, 60, true)
        assert review.audited().decided == 60
        assert review.audited().wrong.low <= 0.2 <= review.audited().wrong.high
    finally:
        review.stop()


def test_if_all_were_reviewed_before_the_count_is_exact(run):
    samples = of_run(run).samples
    rows = zip(samples.row.tolist(), samples.given.tolist(), samples.true.tolist(), strict=True)
    agreed = {row: Decision(row, str(given), str(true), "ann") for row, given, true in rows}
    decisions = Decisions(run / "none.jsonl")
    decisions.before_audit = agreed
    known = RunAudit(samples, decisions)
    assert len(known.queue) == 0
    assert known.found("0123456789").wrong == pytest.approx(((samples.given != samples.true).mean(),) * 3)

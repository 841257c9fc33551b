"""The section on probabilities says what they are for, whether they hold, and no more than is known."""

import json
from dataclasses import replace

import numpy as np
import pytest

from reweigh.fit.decision import Decision
from reweigh.report.sections.probabilities import NOTHING, probabilities_panel
from reweigh.runs.read import Classes, read_account

SHARES = (0.8, 0.2)
CALIBRATED = Decision(SHARES, SHARES, SHARES, SHARES, temperature=1.5, bias=(0.0, 0.0), calibrated=321)


def of_two(account, samples=600, decision=CALIBRATED, **kept):
    """A run of two classes whose probabilities hold; labels are right."""
    random = np.random.default_rng(0)
    rarer = random.beta(0.6, 2.0, samples)
    label, predicted = (random.random(samples) < rarer).astype(int), (rarer >= 0.5).astype(int)
    right = (label == predicted).astype(float)
    sure = np.where(predicted == 1, rarer, 1 - rarer)
    tested = replace(account.tested, label=label, predicted=predicted, probability=sure, right=right)
    history = [{"epoch": 1.0, "test_accuracy": right.mean(), **kept}]
    return replace(account, tested=tested, decision=decision, history=history, classes=Classes(("ok", "fraud"), (8, 2)))


def test_two_classes(account) -> None:
    panel = probabilities_panel(of_two(account))
    shares, average, bins, rarer = panel.words
    assert shares == (
        "The probabilities are for class shares of ok 80.0%, fraud 20.0% and a temperature of 1.5; calibrated "
        "on 321 labels held out of training."
    )
    assert "of 600 held-out samples." in average
    assert "on true labels" not in average
    assert int(bins.split(" of 10 bins")[0]) <= 3
    assert "“fraud”, the rarer class" in rarer
    assert [plot.caption for plot in panel.plots] == [
        "Whether the probabilities hold",
        "Thresholds for “fraud”, on given labels",
    ]
    assert "Lowest cost if a miss costs 1, at" in panel.plots[1].alternative


def test_corrected_labels_are_said_to_be(account) -> None:
    found = of_two(account, true_accuracy=0.8, true_accuracy_error=0.03)
    flipped = np.where(np.arange(600) < 60, 1 - found.tested.label, found.tested.label)
    panel = probabilities_panel(replace(found, tested=replace(found.tested, label=flipped)))
    assert "on true labels it would be about" in panel.words[1]
    assert "which labels alone do not settle" in panel.words[1], "no finding says that some are wrong for sure"
    assert panel.plots[0].alternative.startswith("By probability, on true labels, as estimated: ")


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (
            replace(CALIBRATED, calibrated=0, temperature=1.0),
            "not calibrated, because no labels, or too few, were held",
        ),
        (replace(CALIBRATED, shares=None), "those of the model, trained for class shares of ok 80.0%, fraud"),
        (None, "does not say for which class shares"),
    ],
)
def test_probabilities_without_calibration(account, decision, words) -> None:
    assert words in probabilities_panel(of_two(account, decision=decision)).words[0]


def test_other_class_shares_give_no_verdict(account) -> None:
    panel = probabilities_panel(of_two(account, decision=replace(CALIBRATED, shares=(0.5, 0.5))))
    assert "may have other class shares" in panel.words[2]
    assert not any("contradict" in words for words in panel.words)


def test_too_few_samples(account) -> None:
    panel = probabilities_panel(of_two(account, 49))
    assert panel.words[1] == "49 held-out labels: too few to show whether they hold (50 needed)."
    assert not panel.plots
    panel = probabilities_panel(of_two(account, 60))
    assert "too few to show what thresholds lead to" in panel.words[-1]
    assert len(panel.plots) == 1


def test_a_run_without_predictions(account) -> None:
    assert probabilities_panel(replace(account, tested=None)).words[-1] == NOTHING
    older = replace(account.tested, probability=None, right=None)
    assert probabilities_panel(replace(account, tested=older)).words[-1] == NOTHING


def test_a_stored_run_tells_its_decision(account) -> None:
    assert account.decision is not None
    assert len(account.tested.probability) == len(account.tested.right) == len(account.tested.label)
    assert probabilities_panel(account).plots


def test_labels_without_a_class_are_left_out(account) -> None:
    found = of_two(account)
    label = np.where(np.arange(600) < 500, found.tested.label, np.where(np.arange(600) < 550, -1, 10**15))
    assert (
        "of 500 held-out samples"
        in probabilities_panel(replace(found, tested=replace(found.tested, label=label))).words[1]
    )


@pytest.mark.parametrize("change", [{"shares": [1.0]}, {"estimated": 3}, {"unheard_of": 1}])
def test_a_decision_of_another_form_is_not_told(run, change) -> None:
    classes = json.loads((run / "classes.json").read_text())
    (run / "classes.json").write_text(json.dumps({**classes, "decision": {**classes["decision"], **change}}))
    account = read_account(run, "older")
    assert account.decision is None
    assert "does not say for which class shares" in probabilities_panel(account).words[0]

"""The audit: unbiased however good the qualities are, with limits that hold, for any number of decisions."""

import itertools

import numpy as np
import pandas as pd
import pytest

from reweigh.errors import DataError
from reweigh.issues import audit
from reweigh.issues.audit import Audit, LabelAudit


def labels(kind, count=1500, seed=0):
    """Qualities and wrong labels: the qualities are honest, or know little, or are sure of labels that are wrong."""
    rng = np.random.default_rng(seed)
    doubt = np.clip(rng.beta(0.2, 1.1, count), 0, 1)
    chance = {"honest": doubt, "timid": 0.05 + 0.3 * doubt, "blind": np.full(count, 0.2), "few": 0.02 * doubt + 0.01}[
        kind
    ]
    return 1 - doubt, rng.random(count) < chance


def audited(monkeypatch, seed, quality, wrong, n):
    monkeypatch.setattr(audit, "AUDIT_SEED", seed)
    drawn = Audit(quality, quality < 0.5, np.arange(len(quality)) % 3)
    return drawn.estimate(wrong[drawn.order[:n]])


@pytest.mark.parametrize("n", [50, 100, 200])
@pytest.mark.parametrize("kind", ["honest", "timid", "blind", "few"])
def test_nine_in_ten_intervals_hold_the_truth_and_their_mean_is_the_truth(monkeypatch, kind, n):
    quality, wrong = labels(kind)
    found = [audited(monkeypatch, seed, quality, wrong, n) for seed in range(150)]
    truth, flagged = wrong.mean(), wrong[quality < 0.5]
    shares = np.array([each.wrong.share for each in found])
    assert abs(shares.mean() - truth) < 3.5 * shares.std() / np.sqrt(len(shares))
    within = np.mean([each.wrong.low <= truth <= each.wrong.high for each in found])
    assert 0.84 <= within <= 0.98
    width = np.mean([each.wrong.high - each.wrong.low for each in found])
    simple = 2 * 1.645 * np.sqrt(truth * (1 - truth) / n * (1 - n / len(wrong)))
    assert width < {"honest": 0.8, "timid": 1.0, "blind": 1.05, "few": 2}[kind] * simple
    for name, value in {"precision": flagged.mean(), "recall": flagged.sum() / wrong.sum()}.items():
        limits = [limits for each in found if (limits := getattr(each, name)) is not None]
        assert np.mean([each.low - 1e-9 <= value <= each.high + 1e-9 for each in limits]) >= (
            0.82 if n > 50 else 0.75
        ), name


def test_the_estimate_is_horvitz_thompson_over_all_samples_that_can_be_drawn():
    """The mean over every possible draw from small strata is the truth; each stratum and draw counted in a loop."""
    quality = np.linspace(0.99, 0.01, 24)
    wrong = np.array([0, 0, 1, 0] * 3 + [0, 1, 1, 0] * 3, bool)
    drawn = Audit(quality, quality < 0.5, np.zeros(24, int))
    strata = [np.flatnonzero(drawn._stratum == number) for number in range(audit.STRATA)]
    assert sum(map(len, strata)) == 24
    assert min(map(len, strata)) >= 2
    expected = 0.0
    for stratum in strata:
        means = [np.mean([wrong[one], wrong[other]]) for one, other in itertools.combinations(stratum, 2)]
        expected += len(stratum) / 24 * np.mean(means)
    assert expected == pytest.approx(wrong.mean())
    first = drawn.order[:12]
    by_hand = sum(
        len(stratum) / 24 * np.mean([wrong[index] for index in first if index in stratum]) for stratum in strata
    )
    assert drawn.estimate(wrong[first]).wrong.share == pytest.approx(by_hand)


def test_doubtful_labels_are_drawn_more_often_and_every_label_has_a_chance(monkeypatch):
    quality = np.r_[np.full(900, 0.99), np.full(100, 0.5)]
    chance = np.zeros(1000)
    for seed in range(300):
        monkeypatch.setattr(audit, "AUDIT_SEED", seed)
        chance[Audit(quality, quality < 0.4, np.zeros(1000, int)).order[:100]] += 1 / 300
    assert chance[900:].mean() > 1.5 * chance[:900].mean()
    assert chance.min() > 0


def test_an_audit_of_all_labels_is_exact_and_one_stopped_early_is_its_beginning():
    quality, wrong = labels("honest", 300)
    drawn = Audit(quality, quality < 0.5, np.zeros(300, int))
    assert sorted(drawn.order) == list(range(300))
    found = drawn.estimate(wrong[drawn.order])
    assert found.wrong == pytest.approx((wrong.mean(),) * 3)
    assert found.precision == pytest.approx((wrong[quality < 0.5].mean(),) * 3)
    assert found.more == 0
    some = drawn.estimate(wrong[drawn.order[:7]])
    assert some.decided == 7
    assert some.wrong.high - some.wrong.low > 0.2
    assert "would halve the interval" in str(some)


def test_labels_known_before_are_not_drawn_and_count_as_what_they_are():
    quality, wrong = labels("honest", 1000)
    known = np.where(quality < np.sort(quality)[150], wrong, np.nan)  # somebody has reviewed the worst
    drawn = Audit(quality, quality < 0.5, np.zeros(1000, int), known)
    assert not set(drawn.order) & set(np.flatnonzero(~np.isnan(known)))
    found = drawn.estimate(wrong[drawn.order[:100]])
    plain = Audit(quality, quality < 0.5, np.zeros(1000, int))
    assert found.wrong.low <= wrong.mean() <= found.wrong.high
    assert found.wrong.low >= wrong[~np.isnan(known)].sum() / 1000
    before = plain.estimate(wrong[plain.order[:100]]).wrong
    assert found.wrong.high - found.wrong.low < before.high - before.low


def test_labels_on_which_nobody_is_sure_widen_the_limits_on_both_sides():
    quality, wrong = labels("honest", 1000)
    drawn = Audit(quality, quality < 0.5, np.zeros(1000, int))
    answers = wrong[drawn.order[:100]].astype(float)
    sure = drawn.estimate(answers).wrong
    answers[[3, 8, 11, 40]] = np.nan
    unsure = drawn.estimate(answers)
    assert (unsure.decided, unsure.unsure) == (96, 4)
    assert unsure.wrong.high - unsure.wrong.low > sure.high - sure.low
    assert "On 4 more, nobody is sure" in str(unsure)


@pytest.mark.parametrize("flagged", [np.zeros(60, bool), np.ones(60, bool)])
def test_nothing_or_all_flagged(flagged):
    wrong = np.arange(60) % 4 == 0
    drawn = Audit(np.full(60, 0.7), flagged, np.zeros(60, int))
    found = drawn.estimate(wrong[drawn.order[:30]])
    assert (found.precision is None) == (not flagged.any())
    assert found.recall is not None
    assert found.recall.share == flagged.any()
    assert found.wrong.low < 0.25 < found.wrong.high


def test_a_class_is_named_if_enough_of_it_was_drawn():
    given = np.r_[np.zeros(500, int), np.ones(500, int), np.full(5, 2)]
    wrong = given == 1
    drawn = Audit(np.full(1005, 0.8), np.zeros(1005, bool), given)
    found = drawn.estimate(wrong[drawn.order[:100]], ["cat", "dog", "eel"]).classes
    assert found.keys() == {"cat", "dog"}
    assert found["cat"].share == 0 < found["cat"].high < 0.1
    assert found["dog"].share == 1 > found["dog"].low > 0.9


def test_a_table_of_issues_can_be_audited():
    quality, wrong = labels("honest", 400)
    given = np.where(np.arange(400) % 2, "cat", "dog")
    right = np.where(wrong, np.where(given == "cat", "dog", "cat"), given)
    table = pd.DataFrame(
        {"given_label": given, "label_quality": quality, "is_label_issue": quality < 0.5}, index=range(1000, 1400)
    )
    table.loc[1000, "label_quality"] = np.nan  # it has no label
    drawn = LabelAudit(table.sort_values("label_quality"), n=80)
    assert len(set(drawn.rows)) == 80
    assert 1000 not in drawn.rows
    found = drawn.estimate([str(right[row - 1000]) for row in drawn.rows])
    assert found.labels == 399
    assert found.wrong.share == pytest.approx(wrong[1:].mean(), abs=0.1)
    assert drawn.estimate([None, *right[np.array(drawn.rows[1:30]) - 1000]]).unsure == 1
    assert len(LabelAudit(table, n=1000).rows) == 399


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Audit([], [], []), "no labels to draw from"),
        (lambda: Audit([0.5], [True], [0]).estimate([]), "no label was decided about yet"),
        (lambda: Audit([0.5], [True], [0]).estimate([np.nan]), "no label was decided about yet"),
        (lambda: Audit([0.5], [True], [0]).estimate([True, True]), "2 decisions about 1 labels"),
        (lambda: LabelAudit(pd.DataFrame(), n=0), "n: got 0; give the number of labels"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DataError, match=message):
        call()

"""Copies and groups are held out together, also by the estimator."""

import numpy as np
import pandas as pd
import pytest
from torch import nn

from reweigh import DataError, RobustClassifier
from reweigh.fit import fitting

DRAW = np.random.default_rng(0)
ROWS, LABELS = DRAW.normal(size=(120, 10)), DRAW.integers(0, 3, 120)


def test_copies_of_random_labels_are_not_right_labels():
    """Each sample is there three times with a random label, so a held-out copy of it would confirm the label."""
    classifier = RobustClassifier(random_state=0).fit(np.tile(ROWS, (3, 1)), np.tile(LABELS, 3))
    assert min(classifier.finding_.share) > 0.2


def test_near_copies_of_random_labels_are_not_right_labels():
    """As above, but the copies of a photo differ a little, so only its features say that they are copies."""
    photos = np.tile(DRAW.uniform(size=(120, 3, 4, 4)), (3, 1, 1, 1)) + DRAW.normal(size=(360, 3, 4, 4)) * 0.005
    classifier = RobustClassifier(features=nn.Flatten(), random_state=0).fit(photos, np.tile(LABELS, 3))
    assert min(classifier.finding_.share) > 0.2


@pytest.mark.parametrize("method", ["two-looks", "cmw-net"])
@pytest.mark.parametrize("groups", [np.arange(120) // 4, [f"patient {row // 4}" for row in range(120)]])
def test_groups_reach_the_training_set(method, groups, monkeypatch):
    seen = []

    def fit(train_set, *_, **__):
        seen.append(train_set.groups)
        raise InterruptedError

    monkeypatch.setattr(fitting, "trained_by", lambda trainer, train_set, *_: fit(train_set))
    with pytest.raises(InterruptedError):
        RobustClassifier(method, random_state=0).fit(ROWS, LABELS, groups=groups)
    assert seen[0].tolist() == (np.arange(120) // 4).tolist()


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.arange(119), r"groups: shape \(119,\) for 120 samples; pass one per sample"),
        (np.zeros(120), "groups: all 120 samples are in one group, so none can be held out"),
        (pd.Series([None] * 3 + ["a"] * 60 + ["b"] * 57), "groups: 3 of 120 are missing: rows 0, 1, 2"),
    ],
)
def test_bad_groups(groups, message):
    with pytest.raises(DataError, match=message):
        RobustClassifier(random_state=0).fit(ROWS, LABELS, groups=groups)


def test_as_many_groups_as_samples_and_a_few_groups():
    for groups in (np.arange(120), np.arange(120) % 2, np.arange(120) % 3):
        classifier = RobustClassifier(random_state=0, epochs=8).fit(ROWS, LABELS, groups=groups)
        assert len(classifier.label_issues_) == 120

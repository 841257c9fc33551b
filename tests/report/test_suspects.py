"""Suspicious samples come worst first, from whatever the run knows."""

from dataclasses import replace

import numpy as np

from reweigh.report.suspects import suspects, title
from reweigh.report.tables import Samples

DRAW = np.random.default_rng(0)
FULL = Samples(
    np.arange(40), np.zeros(40, int), quality=DRAW.random(40), issue=DRAW.random(40) < 0.5, weight=DRAW.random(40)
)


def test_issues_by_quality():
    assert FULL.quality is not None
    assert FULL.issue is not None
    expected = sorted((row for row in range(40) if FULL.issue[row]), key=FULL.quality.__getitem__)
    assert suspects(FULL).tolist() == expected


def test_without_a_verdict_all_are_ranked_and_without_quality_by_weight():
    assert FULL.quality is not None
    assert FULL.weight is not None
    assert suspects(replace(FULL, issue=None)).tolist() == np.argsort(FULL.quality).tolist()
    assert suspects(replace(FULL, issue=None, quality=None)).tolist() == np.argsort(FULL.weight).tolist()
    assert suspects(replace(FULL, issue=None, quality=None, weight=None)).tolist() == []


def test_a_sample_is_called_by_its_file_through_subsets(account):
    dataset = account.dataset
    named = replace(dataset, reading=replace(dataset.reading, names=tuple(f"{n}.png" for n in range(1797))))
    row = 900
    place = int(account.samples.index[row])
    origin = int(dataset.origin[place])
    assert origin != place
    assert title(replace(account, dataset=named), row) == f"{origin} ({origin}.png)"
    assert title(replace(account, dataset=None), row) == str(place)

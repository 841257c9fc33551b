"""Columns that give the label away are found also where they have gaps, and a frequent class is not a leak."""

from pathlib import Path

import numpy as np
import pandas as pd

from reweigh.data.findings import leaks
from reweigh.data.readers.reader import Request
from reweigh.data.readers.table import from_frame
from reweigh.data.source import Source

ROWS = 400


def table(labels: np.ndarray, **columns: object):
    honest = np.random.default_rng(1).normal(size=len(labels)).round(3).astype(str)
    return from_frame(pd.DataFrame({"size": honest, **columns, "kind": labels}), Request(Source(Path(), label="kind")))


def test_a_leak_with_gaps():
    draw = np.random.default_rng(0)
    labels = draw.choice(["a", "b", "c"], ROWS)
    code = np.where(draw.random(ROWS) < 0.2, "", np.char.add("code ", labels))
    (found,) = leaks(table(labels, **{"the code": code}))
    assert "Column 'the code' alone predicts 100.0% of the labels where it has a value (in 8" in found
    assert "--drop 'the code'." in found


def test_a_column_that_is_filled_for_one_class_only():
    labels = np.random.default_rng(0).choice(["no", "yes"], ROWS)
    (found,) = leaks(table(labels, closed=np.where(labels == "yes", "by phone", "")))
    assert "Column 'closed' alone predicts 100.0% of the labels; the most frequent class is 5" in found


def test_a_frequent_class_is_not_a_leak():
    labels = np.where(np.random.default_rng(0).random(ROWS) < 0.02, "rare", "usual")
    assert leaks(table(labels, town=np.random.default_rng(2).choice(["Ulm", "Bonn"], ROWS))) == []


def test_the_only_column_cannot_be_left_out():
    labels = np.random.default_rng(0).choice(["sea", "sky"], ROWS)
    only = pd.DataFrame({"text": [f"the {label} at {row}" for row, label in enumerate(labels)], "kind": labels})
    assert leaks(from_frame(only, Request(Source(Path(), label="kind")))) == []

"""A group in which the model is worse is named as the columns are, and chance is not taken for one."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from reweigh.data import Dataset, read
from reweigh.runs import tables
from reweigh.runs.weak_groups import weak_group

SIZE = 1200
DRAW = np.random.default_rng(0)
TOWN, AGE = DRAW.choice(["Bonn", "Kiel", "Ulm"], SIZE), DRAW.integers(18, 90, SIZE)


def said(unseen: Dataset, wrong: np.ndarray) -> str:
    """What is said if these held-out samples are predicted wrongly."""
    label = np.zeros(len(unseen), int)
    held_out = tables.Samples(row=unseen.source_rows.numpy(), given=label)
    account = SimpleNamespace(tested=tables.Tested(label, wrong.astype(int)), held_out=held_out, unseen=unseen)
    return weak_group(account)


@pytest.fixture
def table(tmp_path) -> Dataset:
    draw = np.random.default_rng(2)
    kind = draw.choice(["a", "b"], SIZE)
    pd.DataFrame({"town": TOWN, "age": AGE, "size": draw.normal(size=SIZE), "kind": kind}).to_csv(
        tmp_path / "people.csv", index=False
    )
    return read(tmp_path / "people.csv", label="kind")


def test_a_group_is_named_and_counted_where_it_was_not_sought(table):
    group = (TOWN == "Ulm") & (AGE > 50)
    draw = np.random.default_rng(1)
    words = said(table, np.where(group, draw.random(SIZE) < 0.6, draw.random(SIZE) < 0.1))
    assert "town=Ulm and age is above 5" in words
    share, others = (float(part.split("%")[0].split()[-1]) for part in words.split(" of ")[:2])
    assert share == pytest.approx(40, abs=12)
    assert others == pytest.approx(90, abs=4)


def test_chance_is_no_group(table):
    assert sum(bool(said(table, np.random.default_rng(seed).random(SIZE) < 0.2)) for seed in range(40)) <= 3


def test_images_are_grouped_by_how_they_look():
    draw = np.random.default_rng(1)
    light = draw.random(400) * 200
    images = torch.from_numpy(draw.integers(0, 50, (400, 1, 16, 16)) + light[:, None, None, None]).to(torch.uint8)
    unseen = Dataset(images, torch.zeros(400, dtype=torch.int64), ("cat", "dog"))
    words = said(unseen, np.where(light < 80, draw.random(400) < 0.7, draw.random(400) < 0.1))
    assert words.startswith("The model is worse where brightness is at most 0.")
    assert " and sharp" not in words


def test_without_held_out_samples_nothing_is_said(table):
    assert weak_group(SimpleNamespace(tested=None, held_out=None, unseen=table)) == ""

"""Samples that belong together are on one side of every split, and classes keep their shares."""

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from scipy.sparse import csr_array
from torch import Generator

from reweigh.data import DATASETS, Dataset, read
from reweigh.data.inputs import SparseRows
from reweigh.data.named.own_files import rows
from reweigh.data.splits import copies, groups_of, joined, near_pictures, stratified, stratified_folds
from reweigh.errors import DataError

DRAW = np.random.default_rng(0)
LABELS = torch.tensor(DRAW.integers(0, 3, 300))
GROUPINGS = {
    "pairs": torch.arange(300) // 2,
    "some copies": torch.where(torch.arange(300) < 60, torch.arange(300) // 3, torch.arange(300)),
    "patients": torch.tensor(DRAW.integers(0, 12, 300)),
    "one large": torch.where(torch.arange(300) < 140, 0, torch.arange(300)),
    "numbers with holes": 1000 * torch.tensor(DRAW.integers(0, 30, 300)) - 7,
}


def test_without_groups_nothing_changes():
    """Single samples as groups give the same splits as none."""
    alone = torch.randperm(300)
    for seed in range(3):
        assert torch.equal(stratified(LABELS, 60, seed), stratified(LABELS, 60, seed, groups=alone))
        folds = [stratified_folds(LABELS, 5, 5, Generator().manual_seed(seed), groups) for groups in (None, alone)]
        assert torch.equal(*folds)


@pytest.mark.parametrize("case", GROUPINGS)
def test_groups_stay_together(case):
    groups = GROUPINGS[case]
    for seed in range(5):
        held_out = stratified(LABELS, 60, seed, groups=groups)
        assert not set(groups[held_out].tolist()) & set(np.delete(groups.numpy(), held_out.numpy()).tolist())
        assert 40 <= len(held_out) <= 80
        fold = stratified_folds(LABELS, 5, 5, Generator().manual_seed(seed), groups)
        for group in groups.unique():
            assert len(fold[groups == group].unique()) == 1
        counts = torch.stack([torch.bincount(LABELS[fold == each], minlength=3) for each in range(5)])
        largest = torch.bincount(groups - groups.min()).max()
        assert int((counts.max(0).values - counts.min(0).values).max()) <= max(4, int(largest))


def test_other_seeds_give_other_folds():
    groups = GROUPINGS["pairs"]
    first, second = (stratified_folds(LABELS, 5, 5, Generator().manual_seed(seed), groups) for seed in (0, 1))
    assert not torch.equal(first, second)


def test_classes_of_one_group_are_never_held_out_nor_what_is_grouped_with_them():
    labels = torch.tensor([0] * 20 + [1] * 20 + [2] * 4 + [-1] * 3)
    groups = torch.cat([torch.arange(40), torch.tensor([39] * 4), torch.tensor([0, 1, 50])])
    fold = stratified_folds(labels, 4, 4, Generator().manual_seed(0), groups)
    assert (fold[39:] == -1).all()
    assert (fold[:39] >= 0).all()


def test_one_group_cannot_be_parted():
    with pytest.raises(DataError, match="test_fraction: all 300 samples are in one group"):
        rows(LABELS, 0.2, 0, torch.zeros(300, dtype=torch.int64))
    assert (stratified_folds(LABELS, 5, 5, Generator(), torch.zeros(300, dtype=torch.int64)) == -1).all()


def test_groupings_are_joined():
    """Oracle: spread the smallest number through both groupings until nothing changes."""
    for seed in range(5):
        first, second = (torch.randint(20, (30,), generator=Generator().manual_seed(seed + add)) for add in (0, 50))
        expected = list(range(30))
        for _ in range(30):
            for groups in (first.tolist(), second.tolist()):
                lowest = {}
                for each, group in zip(expected, groups, strict=True):
                    lowest[group] = min(each, lowest.get(group, 99))
                expected = [lowest[group] for group in groups]
        found = joined(first, second)
        assert found is not None
        same = found[:, None] == found[None]
        assert torch.equal(same, torch.tensor(expected)[:, None] == torch.tensor(expected)[None])
    assert joined(None, None) is None


def three_times(inputs):
    return Dataset(torch.cat([inputs] * 3), torch.zeros(3 * len(inputs), dtype=torch.int64), ("a",))


@pytest.mark.parametrize(
    "inputs", [torch.randn(50, 6), torch.randint(256, (50, 3, 8, 8), dtype=torch.uint8), torch.randn(50, 1)]
)
def test_copies_are_groups(inputs):
    found = copies(three_times(inputs))
    assert found is not None
    assert torch.equal(found, torch.arange(50).repeat(3))
    assert copies(Dataset(inputs, torch.zeros(50, dtype=torch.int64), ("a",))) is None
    sparse = csr_array(np.concatenate([inputs.reshape(50, -1).numpy().round()] * 2))
    if inputs.shape[1] > 1:
        found = copies(Dataset(SparseRows(sparse), torch.zeros(100, dtype=torch.int64), ("a",)))
        assert found is not None
        assert torch.equal(found[:50], found[50:])


def test_nothing_but_copies_of_one_sample_can_be_parted_all_the_same():
    assert copies(three_times(torch.ones(1, 3, 4, 4))) is None


def test_rows_of_a_few_categories_are_no_copies():
    """They are equal by chance; a model that never saw a combination could not know its label."""
    few = torch.tensor(DRAW.integers(0, 2, (300, 3))).float()
    assert copies(Dataset(few, torch.zeros(300, dtype=torch.int64), ("a",))) is None
    assert groups_of(Dataset(few, torch.zeros(300, dtype=torch.int64), ("a",), groups=LABELS)) is LABELS


def crossing(parts, key):
    train, test = parts
    return set(key(train)) & set(key(test))


def table(tmp_path, **more):
    x = DRAW.normal(size=60)
    frame = pd.DataFrame({"x": x, "z": x**2, "id": range(60), "label": DRAW.choice(["a", "b"], 60)})
    frame = pd.concat([frame] * 3, ignore_index=True).assign(id=range(180), label=DRAW.choice(["a", "b"], 180), **more)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return frame


def test_equal_rows_of_a_table_are_in_one_part(tmp_path):
    frame = table(tmp_path)
    parts = DATASETS["files"](tmp_path, path="t.csv")
    assert not crossing(parts, lambda part: frame["x"].iloc[part.origin.tolist()])
    assert 25 <= len(parts.test) <= 47


def test_a_column_of_groups(tmp_path):
    people = np.arange(180) % 9
    frame = table(tmp_path, x=DRAW.normal(size=180), patient=[f"p{number}" for number in people])
    parts = DATASETS["files"](tmp_path, path="t.csv", group="patient")
    assert not crossing(parts, lambda part: frame["patient"].iloc[part.origin.tolist()])
    assert [column.name for column in parts.train.reading.encoding.columns] == ["x", "z"]
    assert parts.train.reading.source.words()[-2:] == ["--group", "patient"]
    frame.loc[:2, "patient"] = ""
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert len(read(tmp_path / "t.csv", group="patient").groups.unique()) == 9 + 3  # a gap is a group of its own
    with pytest.raises(DataError, match=r"no column 'pateint' for the group; .* Did you mean 'patient'\?"):
        read(tmp_path / "t.csv", group="pateint")
    frame.assign(patient="p").to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match="column 'patient' has one value, so all rows are in one group"):
        read(tmp_path / "t.csv", group="patient")


@pytest.mark.parametrize("memory_gb", [2.0, 0.0])
def test_equal_files_are_in_one_part(tmp_path, memory_gb):
    for number in range(90):
        pixels = np.random.default_rng(number // 3).integers(0, 255, (8, 8, 3), dtype=np.uint8)
        folder = tmp_path / "photos" / DRAW.choice(["cat", "dog"])
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    parts = DATASETS["files"](tmp_path, path="photos", memory_gb=memory_gb)
    names = parts.train.reading.names
    assert not crossing(parts, lambda part: [int(names[row].split("/")[1][:-4]) // 3 for row in part.origin.tolist()])
    with pytest.raises(DataError, match="no columns, so no group 'patient'"):
        read(tmp_path / "photos", group="patient")


@pytest.mark.parametrize("memory_gb", [2.0, 0.0])
def test_nearly_equal_pictures_are_in_one_part(tmp_path, monkeypatch, memory_gb):
    """A picture, a compressed one, and a brighter one of another size; a broken file does no harm."""
    monkeypatch.setenv("REWEIGH_CACHE", str(tmp_path / "cache"))
    for number in range(30):
        coarse = np.random.default_rng(number).integers(40, 200, (4, 4, 3), dtype=np.uint8)
        whole = Image.fromarray(coarse).resize((32, 32), Image.Resampling.BICUBIC)
        folder = tmp_path / "photos" / ("cat", "dog")[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        whole.save(folder / f"{number}-0.png")
        whole.save(folder / f"{number}-1.jpg", quality=70)
        brighter = np.clip(np.asarray(whole) * 1.1 + 4, 0, 255).astype(np.uint8)
        Image.fromarray(brighter).resize((40, 40)).save(folder / f"{number}-2.png")
    (tmp_path / "photos" / "cat" / "0-0.png").write_bytes((tmp_path / "photos" / "cat" / "0-0.png").read_bytes()[:90])

    def numbers(part):
        names = part.reading.names
        return {int(names[row].split("/")[1].split("-")[0]) for row in part.source_rows.tolist()}

    for _ in range(2):  # the second time from the cache
        train, test = map(numbers, DATASETS["files"](tmp_path, path="photos", size=32, memory_gb=memory_gb))
        assert len(train | test) == 30
        assert not train & test - {0}


def test_pictures_of_a_kind_are_no_copies():
    """Shapes that are all alike, as handwritten digits are; and pictures without any content."""
    rng = Generator().manual_seed(0)
    kind, own = 255 * torch.rand(1, 1, 5, 5, generator=rng), 60 * torch.rand(200, 1, 5, 5, generator=rng)
    pictures = torch.nn.functional.interpolate(0.7 * kind + own, size=20, mode="bilinear").byte()
    assert near_pictures(Dataset(pictures, torch.arange(200) % 2, ("a", "b"))) is None
    blank = torch.zeros(60, 1, 20, 20, dtype=torch.uint8)
    assert near_pictures(Dataset(blank, torch.arange(60) % 2, ("a", "b"))) is None


def test_texts_that_differ_in_case_and_punctuation_are_in_one_part(tmp_path):
    words = ["red apple pie", "old stone house", "long river bank", "deep blue lake"]
    texts = [f"{words[number % 4]} number {number} was seen by {number * 7} people" for number in range(60)]
    rows_of = [*texts, *(text.upper() + " !" for text in texts), *(text.replace(" ", ",  ") for text in texts)]
    pd.DataFrame({"text": rows_of, "label": ["a", "b"] * 90}).to_csv(tmp_path / "t.csv", index=False)
    train, test = DATASETS["files"](tmp_path, path="t.csv", label="label", columns={"text": "text"})
    assert not set((train.source_rows % 60).tolist()) & set((test.source_rows % 60).tolist())


def test_a_list_of_images_with_groups(tmp_path):
    for number in range(40):
        Image.fromarray(np.full((4, 4), number, np.uint8)).save(tmp_path / f"{number}.png")
    listed = pd.DataFrame({"file": [f"{row}.png" for row in range(40)], "patient": np.arange(40) // 5})
    listed.assign(label=["a", "b"] * 20).to_csv(tmp_path / "list.csv", index=False)
    train, test = DATASETS["files"](tmp_path, path="list.csv", group="patient")
    assert not set((train.origin // 5).tolist()) & set((test.origin // 5).tolist())

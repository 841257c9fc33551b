"""Sets of labels: batches see all candidates alike, and one of each stands for the label."""

import numpy as np
import pytest
import torch

from reweigh.core.candidates import CandidateSets
from reweigh.data import Dataset, one_of_each, with_candidates
from reweigh.data.labels.label_file import several_in_one, split_names
from reweigh.data.named.own_files import files
from reweigh.errors import DataError

MASK = torch.tensor([[1, 1, 0], [1, 0, 1], [1, 1, 1], [0, 1, 0], [1, 1, 1]]).bool()


def test_one_of_each_is_the_row_modulo_the_count_th_candidate():
    wanted = []
    for row, mask in enumerate(MASK.tolist()):
        numbers = [number for number, candidate in enumerate(mask) if candidate]
        wanted.append(numbers[row % len(numbers)])
    assert one_of_each(CandidateSets.of_mask(MASK)).tolist() == wanted


def test_batches_carry_uniform_rows_and_subsets_keep_them():
    before = Dataset(torch.arange(10.0).view(5, 2), torch.tensor([0, 2, 1, 1, 0]), ("a", "b", "c"))
    data = with_candidates(before, CandidateSets.of_mask(MASK))
    assert data.true_labels is not None
    assert data.true_labels.equal(before.labels)
    assert bool(MASK[torch.arange(5), data.labels].all())
    rows = data.batch(torch.tensor([0, 2, 3])).labels
    assert rows.tolist() == [[0.5, 0.5, 0], [torch.tensor(1 / 3).item()] * 3, [0, 1, 0]]
    part = data.subset(torch.tensor([3, 1]))
    assert part.batch(torch.tensor([1])).labels.tolist() == [[0.5, 0, 0.5]]
    assert data.with_labels(before.labels).candidates is None


def test_names_with_a_separator_are_split():
    data = Dataset(torch.zeros(4, 2), torch.tensor([0, 1, 2, 1]), ("owl", "cat|dog", "dog | owl"))
    data = split_names(data, "|")
    assert data.class_names == ("cat", "dog", "owl")
    assert data.candidates is not None
    assert data.candidates.tolist() == [[2], [0, 1], [1, 2], [0, 1]]
    assert data.labels.tolist() == [2, 1, 1, 1]
    with pytest.raises(DataError, match=r"^labels: 'cat\|' has an empty name next to '\|'"):
        split_names(Dataset(torch.zeros(1, 2), torch.tensor([0]), ("cat|",)), "|")


def test_classes_may_be_given_and_gaps_are_refused():
    sets = Dataset(torch.zeros(3, 1), torch.tensor([0, 1, 0]), ("a|b", "c"))
    split = split_names(sets, "|", ("c", "b", "a"))
    assert split.class_names == ("c", "b", "a")
    assert split.candidates is not None
    assert split.candidates.tolist() == [[1, 2], [0], [1, 2]]
    with pytest.raises(DataError, match="no class named 'c'; there are: a, b"):
        split_names(sets, "|", ("a", "b"))
    with pytest.raises(DataError, match="missing in 1 sample: row 1; next to candidate labels"):
        split_names(sets.with_labels(torch.tensor([0, -1, 0])), "|")


def test_sets_in_a_test_file(tmp_path):
    table = "x,kind\n1,a|b\n2,b\n3,b|c\n4,a\n"
    (tmp_path / "table.csv").write_text(table)
    train, test = files(tmp_path, path="table.csv", test="table.csv", label="kind", separator="|")
    assert train.class_names == test.class_names == ("a", "b", "c")
    assert train.candidates is not None
    assert test.candidates is not None
    assert train.candidates.tolist() == test.candidates.tolist() == [[0, 1], [1], [1, 2], [0]]
    with pytest.raises(DataError, match="true labels are not read next to candidate labels"):
        files(tmp_path, path="table.csv", label="kind", true_label="x", separator="|")


def test_sets_in_a_label_file(tmp_path):
    sets = ["a|b", "b", "b|c", "a", "d"] * 4
    np.savez(
        tmp_path / "arrays.npz", inputs=np.zeros((20, 2), np.float32), labels=np.array(["a", "b", "c", "a", "b"] * 4)
    )
    (tmp_path / "sets.csv").write_text("label\n" + "\n".join(sets))
    train, test = files(tmp_path, path="arrays.npz", labels="sets.csv", separator="|")
    assert train.class_names == ("a", "b", "c", "d")
    for part in (train, test):
        assert part.candidates is not None
        assert part.origin is not None
        named = ["|".join("abcd"[number] for number in row) for row in part.candidates.tolist()]
        assert named == [sets[place] for place in part.origin]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["cat", "cat|lynx", "dog"], ("cat|lynx", "|")),
        (["cat|lynx", "dog|lynx"], ("cat|lynx", "|")),
        (["cat", "cat; dog", "dog"], ("cat; dog", ";")),
        (["cat", "cat, young", "dog"], None),  # a comma also occurs in ordinary names
        (["cat", "a|b"], None),  # nothing that occurs elsewhere: a name as any other
        (["cat", "dog"], None),
    ],
)
def test_names_that_look_like_sets_of_candidates(names, found):
    assert several_in_one(names) == found

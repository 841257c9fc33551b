"""Sets of labels: batches see all candidates alike, and one of each stands for the label."""

import pytest
import torch

from reweigh.data import Dataset, one_of_each, with_candidates
from reweigh.data.candidates import several_in_one, split_names
from reweigh.errors import DataError

MASK = torch.tensor([[1, 1, 0], [1, 0, 1], [1, 1, 1], [0, 1, 0], [1, 1, 1]]).bool()


def test_one_of_each_is_the_row_modulo_the_count_th_candidate():
    wanted = []
    for row, mask in enumerate(MASK.tolist()):
        numbers = [number for number, candidate in enumerate(mask) if candidate]
        wanted.append(numbers[row % len(numbers)])
    assert one_of_each(MASK).tolist() == wanted


def test_batches_carry_uniform_rows_and_subsets_keep_them():
    before = Dataset(torch.arange(10.0).view(5, 2), torch.tensor([0, 2, 1, 1, 0]), ("a", "b", "c"))
    data = with_candidates(before, MASK)
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
    assert data.candidates.tolist() == [
        [False, False, True],
        [True, True, False],
        [False, True, True],
        [True, True, False],
    ]
    assert data.labels.tolist() == [2, 1, 1, 1]
    with pytest.raises(DataError, match=r"^labels: 'cat\|' names nothing at one side of '\|'"):
        split_names(Dataset(torch.zeros(1, 2), torch.tensor([0]), ("cat|",)), "|")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["cat", "cat|lynx", "dog"], "cat|lynx"),
        (["cat|lynx", "dog|lynx"], "cat|lynx"),
        (["cat", "a|b"], None),  # nothing that occurs elsewhere: a name as any other
        (["cat", "dog"], None),
    ],
)
def test_names_that_look_like_sets_of_candidates(names, found):
    assert several_in_one(names) == found

"""Sets of candidates against the dense mask that they stand for."""

import pytest
import torch

from reweigh.core.candidates import CandidateSets
from reweigh.data import Dataset, one_of_each

MASK = torch.rand(40, 7, generator=torch.Generator().manual_seed(0)) < 0.3
MASK[5], MASK[6] = False, True
SETS = CandidateSets.of_mask(MASK)


@pytest.mark.parametrize(
    "index",
    [
        slice(None),
        slice(4, 8),
        torch.tensor([6, 5, 39, 6, 0]),
        torch.tensor([-1, -40]),
        torch.arange(40) % 3 == 0,
        torch.empty(0, dtype=torch.int64),
    ],
)
def test_rows_and_subsets(index):
    assert torch.equal(SETS[index], MASK[index])
    part = SETS.subset(index)
    assert part.shape == MASK[index].shape
    assert torch.equal(part[:], MASK[index])
    assert torch.equal(part.subset(slice(1, 3))[:], MASK[index][1:3])


def test_the_same_from_lists_and_as_lists():
    lists = [[number for number in range(7) if row[number]] for row in MASK.tolist()]
    assert SETS.tolist() == lists
    again = CandidateSets.of_lists(([*reversed(some), *some] for some in lists), 7)
    assert torch.equal(again[:], MASK)
    assert torch.equal(again.counts, MASK.sum(1))


def test_which_contain_a_label():
    labels = torch.arange(40) % 7
    assert torch.equal(SETS.contain(labels), MASK[torch.arange(40), labels])


def test_one_of_each():
    dense = (MASK.cumsum(1) > (torch.arange(40) % MASK.sum(1).clamp_min(1))[:, None]).int().argmax(1)
    assert torch.equal(one_of_each(SETS), dense)
    assert one_of_each(CandidateSets.of_mask(torch.zeros(2, 3, dtype=torch.bool))).tolist() == [0, 0]


def test_a_mask_is_stored_as_sets_and_takes_memory_for_candidates_only():
    classes = 50_000
    sets = CandidateSets.of_lists(([row, row + 1] for row in range(20_000)), classes)  # the mask would take 1 GB
    data = Dataset(torch.zeros(20_000, 1), one_of_each(sets), tuple(map(str, range(classes))), candidates=sets)
    rows = data.batch(torch.tensor([19_999])).labels
    assert rows.nonzero().tolist() == [[0, 19_999], [0, 20_000]]
    assert data.subset(torch.tensor([7, 3])).candidates.tolist() == [[7, 8], [3, 4]]
    given = Dataset(torch.zeros(40, 1), one_of_each(SETS), tuple("abcdefg"), candidates=MASK)
    assert isinstance(given.candidates, CandidateSets)
    assert torch.equal(given.candidates[:], MASK)

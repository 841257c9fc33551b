import pytest
import torch

from reweigh.bias.symmetric import open_set
from reweigh.data import Dataset, replace_inputs
from reweigh.data.on_demand import OnDemand
from reweigh.errors import DataError


def data(lazy: bool = False) -> Dataset:
    inputs = torch.zeros(100, 2)
    source = OnDemand(lambda place: inputs[place], 100, (2,), torch.float32) if lazy else inputs
    return Dataset(source, torch.arange(100) % 4, tuple("abcd"))


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("foreigners", [40, 60, 15])
def test_chosen_inputs_are_foreign_and_none_twice_while_enough(lazy, foreigners):
    foreign = 1 + torch.arange(foreigners).float()[:, None].expand(-1, 2)
    before = data(lazy)
    replaced = open_set(before.labels, 4, 0, rate=0.4).replaced
    after = replace_inputs(before, replaced, foreign, seed=1)
    values = after.inputs[torch.arange(100)][:, 0]
    assert torch.equal(values > 0, replaced)
    counts = torch.bincount(values[replaced].long())
    assert counts.max() == -(-40 // foreigners)
    assert torch.equal(after.labels, before.labels)
    assert before.inputs[torch.arange(100)].abs().sum() == 0
    assert torch.equal(after.subset(torch.tensor([5, 3])).inputs[torch.tensor([1])][:, 0], values[3:4])


def test_what_does_not_fit():
    replaced = torch.ones(100, dtype=torch.bool)
    with pytest.raises(
        DataError, match=r"foreign inputs: \(3,\) of torch.float32, the data have \(2,\) of torch.float32"
    ):
        replace_inputs(data(), replaced, torch.zeros(5, 3), 0)
    with pytest.raises(DataError, match="2 mistakes"):
        replace_inputs(data(), replaced[:7], torch.zeros(5, 2, dtype=torch.uint8), 0)
    with pytest.raises(DataError, match="there are none"):
        replace_inputs(data(), replaced, torch.zeros(0, 2), 0)

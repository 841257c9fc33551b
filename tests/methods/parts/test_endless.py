"""An endless order: every index in turn, in a new order each time."""

import torch

from reweigh.methods.parts.endless import EndlessOrder


def test_each_comes_once_before_any_comes_again():
    order = EndlessOrder(torch.tensor([3, 5, 7, 11, 13]), torch.Generator().manual_seed(0))
    seen = torch.cat([order.next(size) for size in (2, 4, 1, 8)])
    for turn in seen.split(5):
        assert turn.sort().values.tolist() == [3, 5, 7, 11, 13]
    assert len({tuple(turn.tolist()) for turn in seen.split(5)}) > 1


def test_another_pool_begins_another_order():
    order = EndlessOrder(torch.arange(5), torch.Generator())
    order.next(2)
    order.restart(torch.tensor([8, 9]))
    assert order.next(2).sort().values.tolist() == [8, 9]


def test_a_saved_order_goes_on():
    first, second = (EndlessOrder(torch.arange(9), torch.Generator().manual_seed(0)) for _ in range(2))
    first.next(4)
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.next(5), second.next(5))

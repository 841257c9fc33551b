import threading

import pytest
import torch

from reweigh.data.on_demand import OnDemand, fits


@pytest.mark.parametrize("workers", [1, 4])
def test_like_a_tensor(workers):
    tensor = torch.arange(20.0).reshape(10, 2)
    inputs = OnDemand(lambda place: tensor[place], 10, (2,), torch.float32, workers)
    assert len(inputs) == 10
    for index in (torch.tensor([3, 9, 3]), torch.tensor([-1]), torch.arange(10) > 6, torch.empty(0, dtype=torch.int64)):
        assert torch.equal(inputs[index], tensor[index])
    assert torch.equal(inputs.in_memory(), tensor)


def test_several_are_read_at_a_time():
    together = threading.Barrier(4, timeout=20)

    def read_one(place: int) -> torch.Tensor:
        together.wait()  # passes only when four wait at once
        return torch.tensor([place])

    assert OnDemand(read_one, 4, (1,), torch.int64, workers=4).in_memory().flatten().tolist() == [0, 1, 2, 3]


def test_an_error_in_a_thread_reaches_the_caller():
    def read_one(place: int) -> torch.Tensor:
        raise OSError(f"no {place}")

    with pytest.raises(OSError, match="no "):
        OnDemand(read_one, 4, (1,), workers=2).in_memory()


def test_what_fits():
    assert fits(1000, (3, 10, 10), torch.uint8, 0.0003)
    assert not fits(1000, (3, 10, 10), torch.float32, 0.0003)

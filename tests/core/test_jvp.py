"""Models that forward mode cannot pass."""

import logging

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh import Reweighter
from reweigh.errors import ModelError


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:
        return 3 * ctx.saved_tensors[0] ** 2 * grad


class Cubic(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return Cube.apply(super().forward(x))


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(10, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.bag((x.abs() * 5).long().clamp_max(9))


INPUTS, LABELS = torch.rand(12, 4), torch.arange(12) % 3


def _reweighter(model: nn.Module, engine: str) -> Reweighter:
    return Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), LABELS, engine=engine, every=1)


@pytest.mark.parametrize(("model", "named"), [(Cubic(4, 3), "'Cube'"), (Bag(), "'_embedding_bag'")])
def test_forward_names_the_operation_and_the_engine_that_would_work(model: nn.Module, named: str) -> None:
    with pytest.raises(ModelError, match=f"{named}.*has no forward mode.*engine='unrolled'"):
        _reweighter(model, "forward").step(INPUTS, LABELS, INPUTS, LABELS)


def test_auto_falls_back_and_says_why_once(caplog: pytest.LogCaptureFixture) -> None:
    torch.manual_seed(0)
    first, second = Cubic(4, 3), Cubic(4, 3)
    second.load_state_dict(first.state_dict())
    grads = []
    with caplog.at_level(logging.WARNING):
        for model, engine in ((first, "auto"), (second, "unrolled")):
            torch.manual_seed(1)
            reweighter = _reweighter(model, engine)
            for _ in range(2):
                reweighter.step(INPUTS, LABELS, INPUTS, LABELS)
            grads.append(reweighter.weight_net.heads.weight.grad)
    torch.testing.assert_close(grads[0], grads[1])
    assert len(caplog.records) == 1
    assert "switching to engine 'unrolled'" in caplog.text
    assert "Cube" in caplog.text


def test_auto_stays_with_forward_where_it_can() -> None:
    model = nn.Linear(4, 3)
    found = []
    for engine in ("auto", "forward"):
        torch.manual_seed(0)
        reweighter = _reweighter(model, engine)
        reweighter.learn((INPUTS, LABELS), (INPUTS, LABELS))
        found.append(reweighter.weight_net.heads.weight.grad)
    assert torch.equal(found[0], found[1])


def test_other_errors_of_the_model_are_its_own() -> None:
    class Broken(nn.Linear):
        calls = 0

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            if self.calls > 3:
                raise RuntimeError("broken")
            return F.relu(super().forward(x))

    with pytest.raises(RuntimeError, match="broken"):
        _reweighter(Broken(4, 3), "auto").step(INPUTS, LABELS, INPUTS, LABELS)

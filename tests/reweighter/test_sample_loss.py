"""Losses and models as loops have them."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh import DataError, ModelError, Reweighter
from reweigh.errors import RecipeError
from reweigh.losses import LOSSES
from reweigh.reweighter.inputs import SampleLoss, logits_of

TORCH = torch.Generator().manual_seed(0)
INPUTS = torch.randn(24, 5, generator=TORCH)
LABELS = torch.tensor([0] * 14 + [1] * 7 + [2] * 3)
META = torch.randn(9, 5, generator=TORCH), torch.arange(9) % 3
WEIGHT = torch.tensor([0.5, 1.0, 3.0])


def _linear() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(5, 3)


def _made(model: nn.Module, labels: Any = LABELS, **options: Any) -> Reweighter:
    torch.manual_seed(1)
    return Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), labels, **{"every": 1, **options})


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("options", [{}, {"weight": WEIGHT}, {"label_smoothing": 0.3}])
def test_a_loss_of_torch_is_used_unreduced(reduction: str, options: dict[str, Any]) -> None:
    loss = nn.CrossEntropyLoss(reduction=reduction, **options)
    logits = torch.randn(6, 3)
    labels = torch.tensor([0, 1, 2, 2, 1, 0])
    one_by_one = [F.cross_entropy(row[None], label[None], reduction="sum", **options)
                  for row, label in zip(logits, labels, strict=True)]  # fmt: skip
    torch.testing.assert_close(SampleLoss(loss)(logits, labels), torch.stack(one_by_one))
    assert loss.reduction == reduction


def test_a_step_with_a_loss_of_torch_is_that_of_the_function() -> None:
    by_module, by_function = _linear(), _linear()

    def written(outputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs, labels, weight=WEIGHT, label_smoothing=0.1, reduction="none")

    _made(by_module, loss=nn.CrossEntropyLoss(WEIGHT, label_smoothing=0.1)).step(INPUTS, LABELS, *META)
    _made(by_function, loss=written).step(INPUTS, LABELS, *META)
    assert torch.equal(by_module.weight, by_function.weight)


@pytest.mark.parametrize("normalize", ["mean", "weight-sum"])
def test_ignored_labels_count_for_nothing(normalize: str) -> None:
    """A batch with ignored labels against the batch without these samples."""
    gone = torch.arange(24) % 4 == 0
    labels = LABELS.masked_fill(gone, -100)
    models = _linear(), _linear()
    with_gaps = _made(models[0], labels, loss=nn.CrossEntropyLoss(), normalize=normalize)
    without = _made(models[1], LABELS[~gone], normalize=normalize)
    assert torch.equal(with_gaps.families.centers, without.families.centers)
    meta = torch.cat([META[0], INPUTS[:3]]), torch.cat([META[1], torch.full((3,), -100)])
    step, other = with_gaps.step(INPUTS, labels, *meta), without.step(INPUTS[~gone], LABELS[~gone], *META)
    torch.testing.assert_close(models[0].weight, models[1].weight)
    torch.testing.assert_close(step.weights[~gone], other.weights)
    assert not step.weights[gone].any()
    assert not step.losses[gone].any()
    weights = with_gaps.weigh(step.losses, labels)
    torch.testing.assert_close(weights[~gone], without.weigh(other.losses, LABELS[~gone]))
    assert not weights[gone].any()
    with pytest.raises(DataError, match="the loss ignores all of its labels"):
        with_gaps.step(INPUTS, torch.full((24,), -100))


@dataclass
class Output:
    logits: Tensor


@pytest.mark.parametrize("wrap", [Output, lambda logits: {"logits": logits}, lambda x: SimpleNamespace(logits=x)])
@pytest.mark.parametrize("loss", [LOSSES["cross-entropy"], LOSSES["focal"], nn.CrossEntropyLoss()])
def test_models_that_return_something_with_logits(wrap: Any, loss: Any) -> None:
    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = _linear()

        def forward(self, x: Tensor) -> Any:
            return wrap(self.net(x))

    model, plain = Wrapped(), _linear()
    _made(model, loss=loss).step(INPUTS, LABELS, *META)
    _made(plain, loss=loss).step(INPUTS, LABELS, *META)
    assert torch.equal(model.net.weight, plain.weight)


def test_what_holds_no_logits() -> None:
    with pytest.raises(ModelError, match=r"the model returned tuple; logits are needed.*loss=lambda outputs, labels"):
        logits_of((torch.zeros(2, 3),))
    with pytest.raises(ModelError, match="the model returned dict"):
        logits_of({"scores": torch.zeros(2, 3)})


def test_a_function_that_is_already_a_mean() -> None:
    with pytest.raises(RecipeError, match=r"shape \(\) for 24 samples; .*partial\(F\.cross_entropy, reduction='none'"):
        _made(_linear(), loss=F.cross_entropy).step(INPUTS, LABELS, *META)


def test_a_loss_by_name_and_one_label_per_sample() -> None:
    by_name, given = _linear(), _linear()
    _made(by_name, loss="focal").step(INPUTS, LABELS, *META)
    _made(given, loss=LOSSES["focal"]).step(INPUTS, LABELS, *META)
    assert torch.equal(by_name.weight, given.weight)
    with pytest.raises(RecipeError, match="no loss named 'focall'"):
        _made(given, loss="focall")
    with pytest.raises(DataError, match="the model returned 24 rows for 9 labels; pass one per sample"):
        _made(given).step(INPUTS, LABELS[:9], *META)


def test_a_model_and_an_optimizer_in_this_order() -> None:
    model = _linear()
    with pytest.raises(RecipeError, match=r"a torch\.optim\.Optimizer are needed.*; got Linear and generator"):
        Reweighter(model, model.parameters(), LABELS)  # pyright: ignore

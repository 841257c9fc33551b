"""The drop-in, in loops of other people's shapes."""

import copy
from collections import UserDict
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh import DataError, ModelError, Reweighter
from reweigh.errors import RecipeError
from reweigh.weighting import ClassAwareNet

TORCH = torch.Generator().manual_seed(0)
INPUTS = torch.randn(24, 5, generator=TORCH)
LABELS = torch.tensor([0] * 14 + [1] * 7 + [2] * 3)
META = torch.randn(9, 5, generator=TORCH), torch.arange(9) % 3


def _model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def _reweighter(model: nn.Module, **options: Any) -> Reweighter:
    torch.manual_seed(1)
    return Reweighter(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), LABELS, **options)


def _gradient(reweighter: Reweighter) -> Tensor:
    return torch.cat([p.grad.flatten() for p in reweighter.weight_net.parameters() if p.grad is not None])


def test_families_come_from_class_sizes_rarest_first() -> None:
    assert _reweighter(_model()).families.of_class.tolist() == [2, 1, 0]


def test_a_step_returns_what_happened() -> None:
    step = _reweighter(_model()).step(INPUTS, LABELS, *META)
    assert step.weights.shape == (24,)
    assert ((step.weights > 0) & (step.weights < 1)).all()
    assert step.meta_loss is not None
    assert step.loss.isfinite()


def test_the_two_halves_make_the_whole() -> None:
    """weigh and learn in a loop that owns its backward, against step with the real order of things."""
    whole, halves = _model(), _model()
    optimizer = torch.optim.SGD(halves.parameters(), 0.1, momentum=0.9)
    by_step = _reweighter(whole)
    torch.manual_seed(1)
    by_halves = Reweighter(halves, optimizer, LABELS)
    for _ in range(3):
        by_step.step(INPUTS, LABELS, *META)
        by_halves.learn((INPUTS, LABELS), META)
        optimizer.zero_grad()
        losses = F.cross_entropy(halves(INPUTS), LABELS, reduction="none")
        (by_halves.weigh(losses, LABELS) * losses).mean().backward()
        optimizer.step()
    for ours, theirs in zip(whole.state_dict().values(), halves.state_dict().values(), strict=True):
        torch.testing.assert_close(ours, theirs)


@dataclass
class Output:
    logits: Tensor
    hidden: Tensor


class Talkative(nn.Module):
    def __init__(self, kind: str):
        super().__init__()
        self.net, self.kind = _model(), kind

    def forward(self, a: Tensor, b: Tensor) -> Any:
        logits = self.net(a + b)
        if self.kind == "dict":
            return {"logits": logits}
        return (logits, a) if self.kind == "tuple" else Output(logits, a)


LOSSES = {
    "tuple": lambda outputs, labels: F.cross_entropy(outputs[0], labels, reduction="none"),
    "dict": lambda outputs, labels: F.cross_entropy(outputs["logits"], labels, reduction="none"),
    "dataclass": lambda outputs, labels: F.cross_entropy(outputs.logits, labels, reduction="none"),
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", LOSSES)
def test_models_that_take_and_return_anything(kind: str, named: bool) -> None:
    plain = _reweighter(_model())
    plain.step(INPUTS, LABELS, *META)
    half, meta_half = INPUTS / 2, META[0] / 2
    reweighter = _reweighter(Talkative(kind), loss=LOSSES[kind])
    if named:
        reweighter.step({"a": half, "b": half}, LABELS, {"a": meta_half, "b": meta_half}, META[1])
    else:
        reweighter.step((half, half), LABELS, (meta_half, meta_half), META[1])
    torch.testing.assert_close(_gradient(reweighter), _gradient(plain))


@pytest.mark.parametrize("lookahead", ["virtual", "real"])
@pytest.mark.parametrize("engine", ["forward", "difference"])
def test_compiled_models(engine: str, lookahead: str) -> None:
    model, twin = _model(), _model()
    plain = _reweighter(model, engine=engine, lookahead=lookahead)
    compiled = torch.compile(twin, backend="aot_eager")
    reweighter = _reweighter(compiled, engine=engine, lookahead=lookahead)
    for _ in range(2):
        plain.step(INPUTS, LABELS, *META)
        reweighter.step(INPUTS, LABELS, *META)
    torch.testing.assert_close(_gradient(reweighter), _gradient(plain), rtol=1e-3, atol=1e-5)
    for ours, theirs in zip(model.state_dict().values(), twin.state_dict().values(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lookahead", ["virtual", "real"])
def test_bfloat16_autocast(lookahead: str) -> None:
    """Roughly the full-precision gradient; a stale copy of the parameters would show in the real look-ahead."""

    class Conv(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm, self.head = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(torch.relu(self.norm(self.conv(x))).mean((2, 3)))

    gradients = []
    for low in (False, True):
        torch.manual_seed(0)
        model = Conv()
        reweighter = _reweighter(model, engine="forward", lookahead=lookahead)
        images = torch.randn(24, 1, 6, 6)
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            for _ in range(3):
                step = reweighter.step(images, LABELS, images[6:], LABELS[6:])
        gradients.append(_gradient(reweighter))
        assert step.weights.dtype == torch.float32
    assert F.cosine_similarity(gradients[0], gradients[1], dim=0) > 0.98


@pytest.mark.parametrize("every", [1, 100])
def test_a_loop_inside_one_autocast_sees_its_own_steps(every: int) -> None:
    losses = []
    for whole in (True, False):
        reweighter = _reweighter(_model(), every=every)
        with torch.autocast("cpu", torch.bfloat16, enabled=whole):
            for _ in range(6):
                with torch.autocast("cpu", torch.bfloat16):
                    step = reweighter.step(INPUTS, LABELS, *META)
        losses.append(step.losses)
    torch.testing.assert_close(losses[0], losses[1])


def test_under_autocast_the_difference_takes_a_step_that_shows() -> None:
    gradients = []
    for engine in ("forward", "difference"):
        reweighter = _reweighter(_model(), engine=engine)
        with torch.autocast("cpu", torch.bfloat16):
            reweighter.step(INPUTS, LABELS, *META)
        gradients.append(_gradient(reweighter))
    exact, near = gradients
    assert F.cosine_similarity(exact, near, dim=0) > 0.97
    assert 0.8 < float(near.norm() / exact.norm()) < 1.2


@pytest.mark.parametrize("lookahead", ["virtual", "real"])
@pytest.mark.parametrize("engine", ["difference", "forward"])
def test_random_numbers_that_fill_images_come_again(engine: str, lookahead: str) -> None:
    """Dropout behind a convolution: a repetition in another memory layout would drop other units."""
    images = torch.randn(24, 1, 6, 6, generator=torch.Generator().manual_seed(5))
    gradients = []
    for name in ("unrolled", engine):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.Dropout(0.5), nn.Flatten(), nn.Linear(128, 3))
        reweighter = _reweighter(model, engine=name, lookahead=lookahead)
        reweighter.step(images, LABELS, images[6:], LABELS[6:])
        gradients.append(_gradient(reweighter))
    torch.testing.assert_close(gradients[1], gradients[0], rtol=2e-2, atol=2e-3 * float(gradients[0].abs().max()))


def test_the_look_ahead_follows_what_is_frozen_and_thawed() -> None:
    gradients = []
    for late in (False, True):
        model = _model()
        if not late:
            model[0].requires_grad_(False)
        reweighter = _reweighter(model)
        model[0].requires_grad_(False)
        reweighter.step(INPUTS, LABELS, *META)
        model[0].requires_grad_(True)
        reweighter.learn((INPUTS, LABELS), META)
        gradients.append(_gradient(reweighter))
    torch.testing.assert_close(gradients[0], gradients[1])


def test_a_step_that_learns_needs_trusted_data() -> None:
    reweighter = _reweighter(_model(), every=2)
    with pytest.raises(DataError, match=r"pass meta_inputs and meta_labels wherever reweighter\.due is true"):
        reweighter.step(INPUTS, LABELS)
    reweighter.step(INPUTS, LABELS, *META)
    reweighter.step(INPUTS, LABELS)


def test_labels_may_be_small_integers_and_inputs_any_mapping() -> None:
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = _model()

        def forward(self, x: Tensor) -> dict[str, Tensor]:
            return {"logits": self.inner(x), "other": self.inner[0](x)}

    def loss(outputs: dict[str, Tensor], labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs["logits"], labels.long(), reduction="none")

    steps = []
    for kind, inputs in ((torch.int64, {"x": INPUTS}), (torch.uint8, UserDict(x=INPUTS))):
        step = _reweighter(Named(), loss=loss).step(inputs, LABELS.to(kind), UserDict(x=META[0]), META[1])
        steps.append(step)
        assert not any(output.requires_grad for output in step.outputs.values())
    torch.testing.assert_close(steps[0].weights, steps[1].weights)


def test_soft_labels() -> None:
    rows = F.one_hot(LABELS, 3).float()
    hard, soft = _reweighter(_model()), _reweighter(_model())
    hard.step(INPUTS, LABELS, *META)
    soft.step(INPUTS, rows, META[0], F.one_hot(META[1], 3).float())
    torch.testing.assert_close(_gradient(hard), _gradient(soft))


def test_state_goes_on_where_it_was() -> None:
    model = _model()
    reweighter = _reweighter(model, every=2)
    reweighter.step(INPUTS, LABELS, *META)
    state = copy.deepcopy((model.state_dict(), reweighter._learner.optimizer.state_dict(), reweighter.state_dict()))
    reweighter.step(INPUTS, LABELS, *META)
    reweighter.step(INPUTS, LABELS, *META)
    other = _model()
    resumed = _reweighter(other, every=2)
    other.load_state_dict(state[0])
    resumed._learner.optimizer.load_state_dict(state[1])
    resumed.load_state_dict(state[2])
    for _ in range(2):
        resumed.step(INPUTS, LABELS, *META)
    for ours, theirs in zip(resumed.weight_net.parameters(), reweighter.weight_net.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_families_follow_changed_labels() -> None:
    reweighter = _reweighter(_model())
    reweighter.refresh(2 - LABELS)
    assert reweighter.families.of_class.tolist() == [0, 1, 2]


def test_a_function_learned_elsewhere_needs_no_trusted_data() -> None:
    torch.manual_seed(3)
    learned = ClassAwareNet(3)
    reweighter = _reweighter(_model(), weighting=learned)
    assert not reweighter.due
    step = reweighter.step(INPUTS, LABELS)
    torch.testing.assert_close(step.weights, learned(step.losses, 2 - LABELS))
    assert step.meta_loss is None


def test_a_function_learned_elsewhere_meets_families_as_they_come() -> None:
    torch.manual_seed(3)
    learned = ClassAwareNet(3)
    reweighter = _reweighter(_model(), weighting=learned)
    losses = torch.ones(3)
    reweighter.refresh(torch.tensor([0, 1, 1, 2, 2]))  # two families: the first and the last curve
    expected = learned(losses, torch.tensor([0, 2, 2]))
    torch.testing.assert_close(reweighter.weigh(losses, torch.tensor([0, 1, 2])), expected)
    other = _reweighter(_model(), weighting=learned)
    other.load_state_dict(reweighter.state_dict())
    torch.testing.assert_close(other.weigh(losses, torch.tensor([0, 1, 2])), expected)
    assert all(parameter.requires_grad for parameter in learned.parameters())  # it may go on learning where it was


@pytest.mark.parametrize(
    ("labels", "meta_labels", "message"),
    [
        (LABELS, torch.tensor([0, 3]), r"meta_labels: from 0 to 3, but .* 3 classes"),
        (LABELS, torch.empty(0, dtype=torch.int64), "meta_labels: the batch is empty"),
        (LABELS - 1, META[1], "labels: from -1 to 1"),
        (LABELS.to("meta"), META[1], "labels are on meta but the model is on cpu"),
    ],
)
def test_bad_batches(labels: Tensor, meta_labels: Tensor, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _reweighter(_model()).step(INPUTS, labels, META[0][: len(meta_labels)], meta_labels)


def test_a_label_beyond_the_models_outputs() -> None:
    with pytest.raises(DataError, match="labels from 0 to 4 for a model with 3 outputs"):
        _reweighter(_model(), num_classes=5).step(INPUTS, LABELS, META[0][:2], torch.tensor([0, 4]))


def test_a_model_that_cannot_be_trained() -> None:
    model = _model().requires_grad_(False)
    with pytest.raises(ModelError, match="no trainable parameters"):
        _reweighter(model)


def test_labels_of_the_wrong_kind() -> None:
    with pytest.raises(DataError, match=r"integers of shape \(N,\)"):
        Reweighter(_model(), torch.optim.SGD(_model().parameters(), 0.1), LABELS.float())


def test_names_are_looked_up() -> None:
    with pytest.raises(ValueError, match=r"no engine named 'foward'.*Did you mean 'forward'"):
        _reweighter(_model(), engine="foward")
    with pytest.raises(ValueError, match="no look-ahead named 'reel'"):
        _reweighter(_model(), lookahead="reel")
    with pytest.raises(ValueError, match="every = 0 and families = 3: both are at least 1"):
        _reweighter(_model(), every=0)
    with pytest.raises(ValueError, match="no normalizer named 'sum'"):
        _reweighter(_model(), normalize="sum")


def test_curves_may_wait_for_families_to_come() -> None:
    model = nn.Linear(2, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    even = torch.arange(12) % 3
    reweighter = Reweighter(model, optimizer, even, families=3, curves=3)
    assert (reweighter.families.num_families, reweighter.weight_net.num_families) == (1, 3)
    assert reweighter._family(torch.tensor([0, 1, 2])).tolist() == [1, 1, 1]  # all of one size: the curve in the middle
    reweighter.refresh(torch.tensor([0] * 9 + [1] * 2 + [2] * 2))
    assert reweighter._family(torch.tensor([0, 1, 2])).tolist() == [2, 0, 0]
    reweighter.refresh(torch.tensor([0] * 9 + [1] * 2 + [2] * 4))
    assert reweighter._family(torch.tensor([0, 1, 2])).tolist() == [2, 0, 1]
    assert Reweighter(model, optimizer, even, families=3).weight_net.num_families == 1
    with pytest.raises(RecipeError, match="curves = 1: should be at least 2"):
        Reweighter(model, optimizer, torch.tensor([0, 0, 1, 2, 2]), families=3, curves=1)

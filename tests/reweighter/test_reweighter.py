"""The drop-in, in loops of other people's shapes."""

import copy
import inspect
from collections import UserDict
from dataclasses import dataclass
from typing import Any, get_args

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError, create_model
from torch import Tensor, nn

from reweigh import DataError, ModelError, Reweighter
from reweigh.core.objective import NORMALIZERS, Normalize
from reweigh.errors import RecipeError
from reweigh.families import Families
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
    options = {"every": 1, "normalize": "mean", "families": 3, "warm_up": 0, **options}
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
    by_halves = Reweighter(halves, optimizer, LABELS, every=1, normalize="mean", families=3)
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


def test_float16_is_refused() -> None:
    reweighter = _reweighter(_model())
    with torch.autocast("cpu", torch.float16), pytest.raises(RecipeError, match="use bfloat16"):
        reweighter.step(INPUTS, LABELS, *META)


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


def test_a_frozen_function_learns_no_more_and_needs_no_trusted_data() -> None:
    reweighter = _reweighter(_model())
    reweighter.step(INPUTS, LABELS, *META)
    learned = [p.detach().clone() for p in reweighter.weight_net.parameters()]
    reweighter.freeze()
    assert not reweighter.due
    assert reweighter.step(INPUTS, LABELS).meta_loss is None
    assert all(torch.equal(a, b) for a, b in zip(learned, reweighter.weight_net.parameters(), strict=True))


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
    with pytest.raises(DataError, match=r"integers of shape \(n,\) .* pass labels\.long\(\)"):
        Reweighter(_model(), torch.optim.SGD(_model().parameters(), 0.1), LABELS.float())


def test_names_are_looked_up() -> None:
    with pytest.raises(ValueError, match=r"no engine named 'foward'.*Did you mean 'forward'"):
        _reweighter(_model(), engine="foward")
    with pytest.raises(ValueError, match="no look-ahead named 'reel'"):
        _reweighter(_model(), lookahead="reel")
    with pytest.raises(ValueError, match="every = 0 and hidden = -1: should be at least 1"):
        _reweighter(_model(), every=0, hidden=-1)
    with pytest.raises(ValueError, match="no normalizer named 'sum'"):
        _reweighter(_model(), normalize="sum")
    with pytest.raises(ValueError, match=r"no weight net named 'fre'; .* class-aware, free\. Did you mean 'free'"):
        _reweighter(_model(), weight_net="fre")


def test_curves_can_wait_for_families_to_come() -> None:
    model = nn.Linear(2, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    even, classes = torch.arange(12) % 3, torch.tensor([0, 1, 2])
    reweighter = Reweighter(model, optimizer, even, families=3, spare_curves=True)
    assert (reweighter.families.num_families, reweighter.weight_net.num_families) == (1, 3)
    assert reweighter._curve(classes).tolist() == [1, 1, 1]  # all of one size: the curve in the middle
    reweighter.refresh(torch.tensor([0] * 9 + [1] * 2 + [2] * 2))
    assert reweighter._curve(classes).tolist() == [2, 0, 0]
    reweighter.refresh(torch.tensor([0] * 9 + [1] * 2 + [2] * 4))
    assert reweighter._curve(classes).tolist() == [2, 0, 1]
    plain = Reweighter(model, optimizer, even, families=3)
    plain.refresh(LABELS)
    assert plain.weight_net.num_families == plain.families.num_families == 1


def test_families_of_ones_own() -> None:
    own = Families(torch.tensor([1, 0, 1]), torch.tensor([7.0, 8.5]))
    reweighter = _reweighter(_model(), families=own)
    assert reweighter.weight_net.num_families == 2
    step = reweighter.step(INPUTS, LABELS, *META)
    torch.testing.assert_close(step.weights, reweighter.weight_net(step.losses, own.of_class[LABELS]).detach())
    with pytest.raises(DataError, match="families: of_class has 3 entries for 5 classes"):
        _reweighter(_model(), families=own, num_classes=5)


class Slope(nn.Module):
    """Weights fall with the loss, faster in some families than in others."""

    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.ones(3))

    def forward(self, losses: Tensor, family: Tensor) -> Tensor:
        return torch.sigmoid(1 - self.slope[family] * losses)


@pytest.mark.parametrize("lookahead", ["virtual", "real"])
def test_any_module_can_be_the_weight_net(lookahead: str) -> None:
    net = Slope()
    reweighter = _reweighter(_model().double(), weight_net=net, lookahead=lookahead, meta_lr=0.1)
    assert reweighter.weight_net is net
    with torch.autocast("cpu", torch.bfloat16):
        assert reweighter.weigh(torch.rand(24), LABELS).dtype == torch.float32
    for _ in range(3):
        step = reweighter.step(INPUTS.double(), LABELS, META[0].double(), META[1])
    assert step.weights.dtype == torch.float32
    assert (net.slope != 1).all()
    other = _reweighter(_model(), weight_net=Slope())
    other.load_state_dict(reweighter.state_dict())
    assert torch.equal(other.weight_net.slope, net.slope)


def test_a_weight_net_without_parameters_is_used_as_it_is() -> None:
    class Fixed(nn.Module):
        def forward(self, losses: Tensor, family: Tensor) -> Tensor:
            return torch.exp(-losses)

    reweighter = _reweighter(_model(), weight_net=Fixed())
    assert not reweighter.due
    step = reweighter.step(INPUTS, LABELS)
    torch.testing.assert_close(step.weights, torch.exp(-step.losses))


def test_a_weight_net_that_returns_a_column() -> None:
    class Column(Slope):
        def forward(self, losses: Tensor, family: Tensor) -> Tensor:
            return super().forward(losses, family).unsqueeze(1)

    with pytest.raises(ModelError, match=r"returned shape \(24, 1\) for 24 losses; .* shape \(24,\)"):
        _reweighter(_model(), weight_net=Column()).step(INPUTS, LABELS, *META)


@pytest.mark.parametrize("normalize", ["mean", "weight-sum"])
def test_free_weights_are_learning_to_reweight(normalize: str) -> None:
    """Against double backward through a step from weight zero; see also tests/core/test_learner.py."""
    model = nn.Linear(5, 3)
    free = torch.zeros(24, requires_grad=True)
    losses = F.cross_entropy(model(INPUTS), LABELS, reduction="none")
    grads = torch.autograd.grad((free * losses).sum(), list(model.parameters()), create_graph=True)
    weight, bias = (p - 0.1 * grad for p, grad in zip(model.parameters(), grads, strict=True))
    ahead = F.cross_entropy(F.linear(META[0], weight, bias), META[1])
    clipped = (-torch.autograd.grad(ahead, free)[0]).clamp_min(0)
    reweighter = _reweighter(model, weight_net="free", normalize=normalize, every=2)
    step = reweighter.step(INPUTS, LABELS, *META)
    torch.testing.assert_close(step.weights, clipped * 24 / clipped.sum(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(step.loss, (step.weights * losses).mean().detach())
    assert reweighter.step(INPUTS, LABELS).weights.tolist() == [1.0] * 24
    with pytest.raises(RecipeError, match=r"lookahead = 'real' .* FreeWeights computes them from scratch .* 'virtual'"):
        _reweighter(model, weight_net="free", lookahead="real")


def test_labels_of_32_bits() -> None:
    short = _reweighter(_model()).step(INPUTS, LABELS.int(), META[0], META[1].int())
    assert torch.equal(short.weights, _reweighter(_model()).step(INPUTS, LABELS, *META).weights)


def test_it_shows_what_it_is() -> None:
    assert repr(_reweighter(_model(), every=5)) == (
        "Reweighter(Sequential, SGD, ClassAwareNet, 3 classes in families of mean size 3, 7, 14, every=5, "
        "engine='auto', lookahead='virtual', scope='all', 0 steps done)"
    )
    assert "ClassAwareNet (fixed)" in repr(_reweighter(_model(), weighting=ClassAwareNet(2)))


def test_the_options_can_be_checked_by_pydantic() -> None:
    """Recipes and methods take the options, their limits and their defaults from this signature."""
    signature = inspect.signature(Reweighter, eval_str=True)
    kinds = {name: (p.annotation, p.default) for name, p in signature.parameters.items() if p.kind is p.KEYWORD_ONLY}
    for supplied in ("num_classes", "loss", "weighting", "reduce"):
        kinds.pop(supplied)
    checked = create_model("Options", __config__={"arbitrary_types_allowed": True, "strict": True}, **kinds)
    assert checked().model_dump(include={"every", "normalize"}) == {"every": 10, "normalize": "weight-sum"}
    checked(families=2, weight_net="free", hidden=5, lookahead="real", meta_lr=0.1)
    wrong = {"families": 0, "every": 0, "hidden": 0, "meta_lr": 0.0, "meta_weight_decay": -1.0,
             "lookahead": "reel", "normalize": "sum", "weight_net": 3}  # fmt: skip
    with pytest.raises(ValidationError) as mistakes:
        checked(**wrong)
    assert {error["loc"][0] for error in mistakes.value.errors()} == set(wrong)
    assert set(get_args(Normalize)) == set(NORMALIZERS)


def test_a_plain_look_ahead_is_that_of_sgd_without_momentum() -> None:
    """One step first, so that there is a momentum that the plain look-ahead must not see."""
    gradients = []
    for momentum, step in ((0.9, "gradient"), (0.0, "optimizer"), (0.9, "optimizer")):
        model = _model()
        torch.manual_seed(1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=momentum)
        reweighter = Reweighter(model, optimizer, LABELS, every=1, normalize="mean", lookahead_step=step)
        F.cross_entropy(model(INPUTS), LABELS).backward()
        optimizer.step()
        reweighter.learn((INPUTS, LABELS), META)
        gradients.append(_gradient(reweighter))
    torch.testing.assert_close(gradients[0], gradients[1])
    assert not torch.allclose(gradients[0], gradients[2])
    with pytest.raises(RecipeError, match="lookahead_step = 'gradient' needs lookahead = 'virtual'"):
        _reweighter(_model(), lookahead="real", lookahead_step="gradient")


def test_amsgrad_of_the_weight_net() -> None:
    assert _reweighter(_model(), meta_amsgrad=True).weights.optimizer.param_groups[0]["amsgrad"]
    assert not _reweighter(_model()).weights.optimizer.param_groups[0]["amsgrad"]

"""One training step: what moves, what does not, and in which order."""

import copy
import gc
import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core.jvp import ENGINES, engine
from reweigh.core.learner import MetaLearner, Step
from reweigh.core.objective import Terms, mean_loss, reweighted
from reweigh.weighting import ClassAwareNet, FreeWeights, LearnedWeights

INPUTS, LABELS = torch.randn(12, 6, generator=torch.Generator().manual_seed(0)), torch.arange(12) % 3
META = torch.randn(9, 6, generator=torch.Generator().manual_seed(1)), torch.arange(9) % 3


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs, labels, reduction="none")


def _model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))


def _learner(model: nn.Module, meta_lr: float = 0.1, **options: Any) -> MetaLearner:
    torch.manual_seed(1)
    net = ClassAwareNet(3)
    weigher = LearnedWeights(net, torch.optim.SGD(net.parameters(), meta_lr))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    return MetaLearner(model, optimizer, weigher, engine("forward"), **options)


def _step(learner: MetaLearner) -> Step:
    return learner.step(reweighted(loss, INPUTS, LABELS), LABELS, mean_loss(loss, *META))


def _net(learner: MetaLearner) -> ClassAwareNet:
    assert isinstance(learner.weigher, LearnedWeights)
    return learner.weigher.net


@pytest.mark.parametrize("lookahead", ["virtual", "real"])
def test_the_model_takes_the_weighted_step_and_nothing_else(lookahead: Any) -> None:
    model = _model()
    twin = copy.deepcopy(model)
    learner = _learner(model, lookahead=lookahead)
    torch.manual_seed(5)
    step = _step(learner)
    optimizer = torch.optim.SGD(twin.parameters(), 0.1, momentum=0.9)
    torch.manual_seed(5)
    ((step.weights * loss(twin(INPUTS), LABELS)).sum() / 12).backward()
    optimizer.step()
    for ours, theirs in zip(model.state_dict().values(), twin.state_dict().values(), strict=True):
        torch.testing.assert_close(ours, theirs)  # parameters, and BatchNorm statistics moved once


def test_virtual_trains_with_better_weights_and_real_with_those_of_before() -> None:
    for lookahead, better in (("virtual", True), ("real", False)):
        learner = _learner(_model(), lookahead=lookahead)
        before = copy.deepcopy(_net(learner))
        step = _step(learner)
        net = _net(learner) if better else before
        torch.testing.assert_close(step.weights, net(step.losses, LABELS).detach())
        assert not torch.equal(_net(learner).heads.weight, before.heads.weight)


def test_learning_lowers_the_meta_loss() -> None:
    """Samples of class 0 carry the label 1 and the other way round; the trusted ones are right."""
    wrong = torch.tensor([1, 0, 2])[LABELS]
    model = _model().eval()
    learner = _learner(model, meta_lr=50.0)
    for group in learner.optimizer.param_groups:
        group["lr"] = 0.0  # the same problem again and again
    objective = reweighted(loss, INPUTS, wrong)
    learner.optimizer.param_groups[0]["lr"] = 0.5
    losses = [learner.learn(objective, LABELS, mean_loss(loss, INPUTS, LABELS)) for _ in range(30)]
    values = [float(value) for value in losses if value is not None]
    assert values[-1] < values[0] - 0.01


def test_learn_leaves_the_model_alone() -> None:
    model = _model()
    learner = _learner(model)
    _step(learner)
    before = copy.deepcopy((model.state_dict(), learner.optimizer.state_dict()))
    grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    net = copy.deepcopy(_net(learner).state_dict())
    learner.learn(reweighted(loss, INPUTS, LABELS), LABELS, mean_loss(loss, *META))
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), before[0].values(), strict=True))
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), grads, strict=True) if p.grad is not None)
    assert any(not torch.equal(a, net[name]) for name, a in _net(learner).state_dict().items())


def test_every_third_step_learns() -> None:
    learner = _learner(_model(), every=3)
    learned = []
    for _ in range(7):
        due, before = learner.due, _net(learner).heads.weight.clone()
        step = _step(learner)
        assert due == (step.meta_loss is not None)
        learned.append(not torch.equal(before, _net(learner).heads.weight))
    assert learned == [True, False, False, True, False, False, True]


def test_parameters_that_the_objective_does_not_touch_stay() -> None:
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.idle = nn.Linear(6, 3), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.used(x)

    for lookahead in ("virtual", "real"):
        model = Half()
        before = model.idle.weight.clone()
        _step(_learner(model, lookahead=lookahead))
        assert torch.equal(model.idle.weight, before)


def test_collapse_is_said_once() -> None:
    learner = _learner(_model(), meta_lr=0.0)
    with torch.no_grad():
        _net(learner).heads.bias.fill_(-30)
    with pytest.warns(UserWarning, match=r"nearly all weights are zero \(mean .*Try a smaller meta learning rate"):
        _step(learner)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _step(learner)


def test_free_weights_are_those_of_learning_to_reweight() -> None:
    """Against the definition: the gradient at weight zero by double backward, clipped and renormalized."""
    model = _model().eval().double()
    inputs, meta_inputs = INPUTS.double(), META[0].double()
    learner = MetaLearner(model, torch.optim.SGD(model.parameters(), 0.1), FreeWeights(), engine("forward"))
    free = torch.zeros(12, dtype=torch.float64, requires_grad=True)
    params = dict(model.named_parameters())
    grads = torch.autograd.grad((free * loss(model(inputs), LABELS)).mean(), list(params.values()), create_graph=True)
    moved = {name: p - 0.1 * g for (name, p), g in zip(params.items(), grads, strict=True)}
    meta_loss = loss(torch.func.functional_call(model, moved, (meta_inputs,)), META[1]).mean()
    clipped = (-torch.autograd.grad(meta_loss, free)[0]).clamp_min(0)
    step = learner.step(reweighted(loss, inputs, LABELS), LABELS, mean_loss(loss, meta_inputs, META[1]))
    torch.testing.assert_close(step.weights, clipped * 12 / clipped.sum())
    assert (step.weights == 0).any()
    unlearned = learner.step(reweighted(loss, inputs, LABELS), LABELS, None)
    assert torch.equal(unlearned.weights, torch.ones(12, dtype=torch.float64))


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "auto"])
def test_a_model_in_double_precision_meets_a_net_in_single(name: str) -> None:
    learner = _learner(_model().double())
    learner.engine = engine(name)
    step = learner.step(reweighted(loss, INPUTS.double(), LABELS), LABELS, mean_loss(loss, META[0].double(), META[1]))
    assert step.weights.dtype == torch.float32
    assert step.loss.dtype == torch.float64


def test_three_gradients_and_the_batch_size_are_averaged_over_processes() -> None:
    model = _model()
    seen: list[list[torch.Size]] = []
    learner = _learner(model, reduce=lambda tensors: seen.append([t.shape for t in tensors]))
    _step(learner)
    shapes = [p.shape for p in model.parameters()]
    size = [torch.Size()]
    assert seen == [size, shapes, shapes, [p.shape for p in _net(learner).parameters()], size]


def test_a_training_loss_with_parts_that_have_no_weight() -> None:
    model = _model().eval()

    def objective(forward: Any) -> Terms:
        outputs = forward(INPUTS)
        return Terms(0 * loss(outputs, LABELS), loss(outputs, LABELS), (outputs**2).mean(), 12)

    step = _learner(model).step(objective, LABELS, mean_loss(loss, *META))
    torch.testing.assert_close(step.loss, (_model().eval()(INPUTS) ** 2).mean().detach())


@pytest.mark.parametrize("lookahead", ["virtual", "real"])
def test_nothing_grows_over_steps(lookahead: Any) -> None:
    learner = _learner(nn.Linear(6, 3), lookahead=lookahead)

    def tensors_after(steps: int) -> int:
        for _ in range(steps):
            _step(learner)
        gc.collect()
        return sum(isinstance(thing, Tensor) for thing in gc.get_objects())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # looking at every object touches deprecated ones
        first = tensors_after(50)
        assert tensors_after(200) <= first

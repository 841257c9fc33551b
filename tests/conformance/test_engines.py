"""Every engine, on every kind of model, against central differences through the real torch optimizer in fp64."""

import copy
import itertools
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core.jvp import ENGINES, engine
from reweigh.core.learner import MetaLearner
from reweigh.core.objective import (
    NORMALIZERS,
    Forward,
    Objective,
    Terms,
    mean_loss,
    mixed_soft_labels,
    reweighted,
    soft_labels,
    with_rest,
)
from reweigh.weighting import ClassAwareNet, LearnedWeights


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs, labels, reduction="none")


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(3, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.block(self.embed(x.reshape(len(x), 4, 3))).mean(1))


class Tied(nn.Module):
    """The last layer reads with the transposed weight of the first, which is also used without its module."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 4)
        self.second = nn.Linear(4, 12)
        self.second.weight = nn.Parameter(torch.randn(12, 4) / 4)
        self.third = nn.Linear(4, 12)
        self.third.weight = self.second.weight

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.second(torch.tanh(self.first(x))))
        return torch.tanh(self.third(h @ self.second.weight)) @ self.second.weight


def _frozen() -> nn.Module:
    model = _mlp()
    model[0].requires_grad_(False)
    return model


def _mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 4))


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 2)
        self.norm = nn.BatchNorm2d(4)
        self.blocks = nn.Sequential(
            nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.Softplus()),
            nn.Sequential(nn.Conv2d(4, 5, 1), nn.BatchNorm2d(5), nn.Softplus()),
        )
        self.head = nn.Linear(5, 4)

    def forward(self, x: Tensor) -> Tensor:
        h = F.softplus(self.norm(self.conv(x.reshape(-1, 3, 2, 2))))
        return self.head(self.blocks(h).mean((2, 3)))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "mlp": _mlp,
    "convolution and batchnorm": Convolutional,
    "dropout": lambda: nn.Sequential(nn.Linear(12, 8), nn.Dropout(0.4), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 4)),
    "attention": Attention,
    "tied": Tied,
    "frozen": _frozen,
}

OPTIMIZERS: dict[str, Callable[[list[nn.Parameter]], torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.3),
    "momentum": lambda p: torch.optim.SGD(p, 0.3, momentum=0.9, dampening=0.2, weight_decay=1e-2),
    "nesterov": lambda p: torch.optim.SGD(p, 0.3, momentum=0.9, nesterov=True, weight_decay=1e-2),
    "maximize": lambda p: torch.optim.SGD(p, 0.3, momentum=0.5, maximize=True),
    "adam": lambda p: torch.optim.Adam(p, 0.05, weight_decay=1e-2),
    "amsgrad": lambda p: torch.optim.Adam(p, 0.05, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, 0.05, weight_decay=1e-1),
    "groups": lambda p: torch.optim.SGD(
        [{"params": p[:2], "lr": 0.5}, {"params": p[2:], "lr": 0.1, "momentum": 0.8}], 0.3
    ),
}


LOOKAHEADS = ("virtual", "real")


class Case:
    """A model two steps into its training, a batch, a trusted batch and a weight net."""

    def __init__(self, model: str, optimizer: str = "momentum", normalize: str = "mean"):
        torch.manual_seed(0)
        self.inputs, self.labels = torch.randn(10, 12), torch.randint(4, (10,))
        self.meta_inputs, self.meta_labels = torch.randn(6, 12), torch.randint(4, (6,))
        self.family = self.labels % 3
        self.model = MODELS[model]()
        self.optimizer = OPTIMIZERS[optimizer]([p for p in self.model.parameters() if p.requires_grad])
        for _ in range(2):  # so that momentum and second moments are there
            self.optimizer.zero_grad()
            loss(self.model(self.inputs), self.labels).mean().backward()
            self.optimizer.step()
        self.net = ClassAwareNet(3, hidden=4)
        self.normalize = NORMALIZERS[normalize]
        self.objective: Objective = reweighted(loss, self.inputs, self.labels)
        self.meta = mean_loss(loss, self.meta_inputs, self.meta_labels)

    def gradient(self, name: str, lookahead: str, scope: str = "all") -> Tensor:
        """The gradient of the weight net that one step of the library finds."""
        weigher = LearnedWeights(self.net, torch.optim.SGD(self.net.parameters(), 0.0))
        learner = MetaLearner(
            self.model, self.optimizer, weigher, engine(name),
            lookahead=lookahead, scope=scope, normalize=self.normalize,
        )  # fmt: skip
        torch.manual_seed(1)
        learner.step(self.objective, self.family, self.meta)
        return torch.cat([p.grad.flatten() for p in self.net.parameters()])

    def slow_gradient(self, moves: Callable[[str], bool] = lambda name: True, others_move: bool = False) -> Tensor:
        """The same by central differences: take the step with torch itself, for each parameter of the net, twice.

        Args:
            moves: the parameters whose dependence on the weights counts.
            others_move: the others take the step too, but with weights that stay as they are (the real step).
        """
        before = copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))
        torch.manual_seed(1)
        with torch.no_grad():
            losses = self.objective(self.model).losses
        self._restore(before)
        fixed = self.net(losses, self.family).detach()

        def meta_loss() -> float:
            weights = self.net(losses, self.family).detach()
            stay = {k: v.clone() for k, v in self.model.named_parameters() if not moves(k)}
            if others_move and stay:
                self._train(fixed)
                stay = {k: v.detach().clone() for k, v in self.model.named_parameters() if not moves(k)}
                self._restore(before)
            self._train(weights)
            with torch.no_grad():
                for name, value in stay.items():
                    self.model.get_parameter(name).copy_(value)
                torch.manual_seed(int(torch.randint(2**62, ())))
                result = float(self.meta(self.model))
            self._restore(before)
            return result

        gradient = []
        for param in self.net.parameters():
            for i in range(param.numel()):
                ends = []
                for h in (1e-4, -1e-4):
                    with torch.no_grad():
                        param.view(-1)[i] += h
                    ends.append(meta_loss())
                    with torch.no_grad():
                        param.view(-1)[i] -= h
                gradient.append((ends[0] - ends[1]) / 2e-4)
        return torch.tensor(gradient)

    def _train(self, weights: Tensor) -> None:
        torch.manual_seed(1)
        terms = self.objective(self.model)
        self.optimizer.zero_grad()
        (self.normalize(weights, terms.size, lambda value: value) @ terms.coefficients + terms.rest).backward()
        self.optimizer.step()

    def _restore(self, before: tuple[dict, dict]) -> None:
        self.model.load_state_dict(before[0])
        self.optimizer.load_state_dict(copy.deepcopy(before[1]))  # which keeps the tensors that it is given


@pytest.fixture(autouse=True)
def _double() -> object:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def _agree(made: Callable[[], Case], expected: Tensor, lookaheads: tuple[str, ...] = LOOKAHEADS, **scope: str) -> None:
    """Every engine finds the expected gradient of a case."""
    most = float(expected.abs().max())
    assert most > 1e-6
    for name, lookahead in itertools.product(ENGINES, lookaheads):
        found = made().gradient(name, lookahead, **scope)
        # no component is held more tightly than central differences themselves can be trusted
        torch.testing.assert_close(
            found, expected, rtol=1e-5, atol=1e-6 * most,
            msg=lambda words, case=f"{name}, {lookahead}": f"{case}: {words}",
        )  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_engines_agree_with_central_differences(model: str) -> None:
    _agree(lambda: Case(model), Case(model).slow_gradient())


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_look_ahead_is_the_optimizers_own(optimizer: str) -> None:
    _agree(lambda: Case("mlp", optimizer), Case("mlp", optimizer).slow_gradient())


@pytest.mark.parametrize("normalize", NORMALIZERS)
def test_normalizers(normalize: str) -> None:
    if normalize == "weight-sum":  # the sum is held constant: an oracle that moves the weights must hold it too
        case = Case("mlp")
        torch.manual_seed(1)
        total = case.net(case.objective(case.model).losses.detach(), case.family).sum().detach()
        case.normalize = lambda weights, size, average: weights / total
        expected = case.slow_gradient()
    else:
        expected = Case("mlp", normalize=normalize).slow_gradient()
    _agree(lambda: Case("mlp", normalize=normalize), expected)


@pytest.mark.parametrize("scope", ["last-layer", "last-block", "blocks.*"])
@pytest.mark.parametrize("lookahead", LOOKAHEADS)
def test_a_scope_counts_only_its_own_part(scope: str, lookahead: str) -> None:
    prefix = {"last-layer": ("head",), "last-block": ("blocks.1", "head"), "blocks.*": ("blocks",)}[scope]
    model = "convolution and batchnorm"
    expected = Case(model).slow_gradient(lambda name: name.startswith(prefix), others_move=lookahead == "real")
    _agree(lambda: Case(model), expected, (lookahead,), scope=scope)


def _soft(case: Case) -> Objective:
    return soft_labels(loss, case.inputs, case.labels, torch.softmax(torch.randn(10, 4), 1))


def _mixed(case: Case) -> Objective:
    case.family = torch.cat([case.family, case.family.flip(0)])
    pseudo = torch.softmax(torch.randn(10, 4), 1)
    return mixed_soft_labels(loss, case.inputs, case.labels, pseudo, torch.arange(10).flip(0), 0.7)


def _unlabeled(case: Case) -> Objective:
    """A supervised loss beside weighted losses of an unlabeled batch: FixMatch with weights."""
    extra, guessed = torch.randn(10, 12), torch.randint(4, (10,))

    def objective(forward: Forward) -> Terms:
        outputs = forward(torch.cat([case.inputs, extra]))
        losses = loss(outputs[10:], guessed)
        return Terms(losses, losses, loss(outputs[:10], case.labels).mean(), 10)

    return objective


def _auxiliary(case: Case) -> Objective:
    """Weights on one head's loss, a penalty on another's: the first two outputs select, as in SelectiveNet."""

    def objective(forward: Forward) -> Terms:
        outputs = forward(case.inputs)
        losses = 0.5 * loss(outputs, case.labels)
        coverage = torch.sigmoid(outputs[:, 0]).mean()
        return Terms(losses, losses, 0.5 * (0.8 - coverage).clamp_min(0) ** 2, 10)

    return objective


def _consistent(case: Case) -> Objective:
    """Soft labels, and a second forward on another view that should give the pseudo-labels too: CMW-Net-SL+."""
    pseudo, view = torch.softmax(torch.randn(10, 4), 1), torch.randn(10, 12)
    return with_rest(
        soft_labels(loss, case.inputs, case.labels, pseudo), lambda forward: 0.7 * loss(forward(view), pseudo).mean()
    )


def _with(objective: Callable[[Case], Objective]) -> Case:
    case = Case("convolution and batchnorm")
    torch.manual_seed(2)
    case.objective = objective(case)
    return case


@pytest.mark.parametrize("objective", [_soft, _mixed, _unlabeled, _auxiliary, _consistent])
def test_objectives(objective: Callable[[Case], Objective]) -> None:
    _agree(lambda: _with(objective), _with(objective).slow_gradient())


@pytest.mark.parametrize("lookahead", LOOKAHEADS)
def test_two_forwards_in_one_objective_and_a_scope(lookahead: str) -> None:
    expected = _with(_consistent).slow_gradient(lambda name: name.startswith("head"), others_move=lookahead == "real")
    _agree(lambda: _with(_consistent), expected, (lookahead,), scope="last-layer")

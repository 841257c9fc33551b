"""The rivals of the engines, as their users write them: the paper's listing, higher, torchopt and betty."""

import copy
import importlib
import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.optim import SGD, Optimizer

from reweigh import Reweighter
from reweigh.losses import LOSSES
from reweigh.models import MODELS
from reweigh.weighting import LearnedWeights

CLASSES = 10
TRAINING_LABELS = torch.arange(CLASSES).repeat_interleave(torch.arange(1, CLASSES + 1))  # sizes for three families
cross_entropy = LOSSES["cross-entropy"]


class Task:
    """A model, its optimizer, a weight net and its optimizer, random training data and as many trusted data."""

    def __init__(self, model: nn.Module, optimizer: Optimizer, shape: tuple[int, ...], **options: Any):
        self.model, self.optimizer, self.lr = model, optimizer, optimizer.param_groups[0]["lr"]
        self.reweighter = Reweighter(model, optimizer, TRAINING_LABELS, **{"every": 1, "normalize": "mean", **options})
        learned = self.reweighter.weights
        assert isinstance(learned, LearnedWeights)
        assert learned.optimizer is not None
        self.net, self.meta_optimizer = learned.net, learned.optimizer
        self.inputs, self.meta_inputs = torch.randn(2, *shape, dtype=next(model.parameters()).dtype)
        self.labels, self.meta_labels = torch.randint(CLASSES, (2, shape[0]))
        self.family = self.reweighter.families.of_class[self.labels]

    def weighted(self, outputs: Tensor) -> Tensor:
        losses = cross_entropy(outputs, self.labels)
        return (self.net(losses.detach(), self.family) * losses).mean()

    def meta_loss(self, outputs: Tensor) -> Tensor:
        return cross_entropy(outputs, self.meta_labels).mean()

    def learn(self, meta_loss: Tensor) -> None:
        """Differentiate with respect to the weight net and nothing else: the least that a library can be asked."""
        params = list(self.net.parameters())
        for param, grad in zip(params, torch.autograd.grad(meta_loss, params), strict=True):
            param.grad = grad
        self.meta_optimizer.step()

    def train(self) -> None:
        """The real step, with a forward of its own."""
        losses = cross_entropy(self.model(self.inputs), self.labels)
        with torch.no_grad():
            weights = self.net(losses, self.family)
        self.descend((weights * losses).mean())

    def descend(self, loss: Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


Step = Callable[[], Any]


def plain(task: Task) -> Step:
    return lambda: task.descend(cross_entropy(task.model(task.inputs), task.labels).mean())


def ours(task: Task) -> Step:
    return lambda: task.reweighter.step(task.inputs, task.labels, task.meta_inputs, task.meta_labels)


def listing(task: Task) -> Step:
    """The order of the paper's listing: all is differentiated, the copied model too, and nothing is used twice."""

    def step() -> None:
        model = copy.deepcopy(task.model)
        params = dict(model.named_parameters())
        grads = torch.autograd.grad(task.weighted(model(task.inputs)), list(params.values()), create_graph=True)
        ahead = {name: p - task.lr * grad for (name, p), grad in zip(params.items(), grads, strict=True)}
        task.meta_optimizer.zero_grad()
        task.meta_loss(functional_call(model, ahead, task.meta_inputs)).backward()
        task.meta_optimizer.step()
        task.train()

    return step


def higher(task: Task) -> Step:
    library = importlib.import_module("higher")
    virtual = SGD(task.model.parameters(), task.lr)

    def step() -> None:
        with library.innerloop_ctx(task.model, virtual) as (model, ahead):
            ahead.step(task.weighted(model(task.inputs)))
            task.learn(task.meta_loss(model(task.meta_inputs)))
        task.train()

    return step


def torchopt(task: Task) -> Step:
    library = importlib.import_module("torchopt")

    def step() -> None:
        before = library.extract_state_dict(task.model, by="reference")
        library.MetaSGD(task.model, lr=task.lr).step(task.weighted(task.model(task.inputs)))
        task.learn(task.meta_loss(task.model(task.meta_inputs)))
        library.recover_state_dict(task.model, before)
        task.train()

    return step


def betty(task: Task) -> Step:
    """The real step is the look-ahead; the meta-gradient is a central difference around the parameters after it."""
    problems, engine, configs = (importlib.import_module(f"betty.{part}") for part in ("problems", "engine", "configs"))

    class Lower(problems.ImplicitProblem):
        read, read_in = torch.empty(0), -1

        def training_step(self, batch: Sequence[Tensor]) -> Tensor:
            losses = cross_entropy(self.forward(batch[0]), batch[1])
            if self.count != self.read_in:  # the difference's two forwards must weigh as the step itself did
                self.read, self.read_in = losses.detach(), self.count
            return (self.upper(self.read, task.family) * losses).mean()

    class Upper(problems.ImplicitProblem):
        def training_step(self, batch: Sequence[Tensor]) -> Tensor:
            return task.lr * task.meta_loss(self.lower(batch[0]))  # betty's Jacobian leaves out the learning rate

    logging.disable(logging.INFO)
    # its own length of the difference, .01, steps across kinks of ReLU: up to 5 % off where this is 0.1 %
    shared = {"config": configs.Config(type="darts", unroll_steps=1, retain_graph=True, darts_alpha=1e-3)}
    batch, meta_batch = (task.inputs, task.labels), (task.meta_inputs, task.meta_labels)
    lower = Lower("lower", module=task.model, optimizer=task.optimizer, train_data_loader=[batch], **shared)
    upper = Upper("upper", module=task.net, optimizer=task.meta_optimizer, train_data_loader=[meta_batch], **shared)
    edges = {"u2l": {upper: [lower]}, "l2u": {lower: [upper]}}
    loop = engine.Engine(problems=[lower, upper], config=configs.EngineConfig(), dependencies=edges)
    loop.train()
    return loop.train_step


class Peer(NamedTuple):
    """How a peer's step is prepared, what its look-ahead is, and how far from ours its meta-gradient may be."""

    prepare: Callable[[Task], Step]
    lookahead: str = "virtual"
    tolerance: float = 1e-8


PEERS = {
    "listing": Peer(listing),
    "higher": Peer(higher),
    "torchopt": Peer(torchopt),
    "betty": Peer(betty, "real", 1e-2),  # its difference is taken after the step, not before: right for small ones
}


def disagreement(name: str) -> float:
    """Relative distance of a peer's meta-gradient from that of engine ``forward``, in fp64, of a small plain step."""
    mine, its = _meta_gradient(ours), _meta_gradient(PEERS[name].prepare)
    return float((its - mine).norm() / mine.norm())


def _meta_gradient(prepare: Callable[[Task], Step]) -> Tensor:
    torch.manual_seed(0)
    model = MODELS["mlp"]((8,), CLASSES, hidden=(16, 16)).double()
    task = Task(model, SGD(model.parameters(), 1e-3), (24, 8), engine="forward")
    params = list(task.net.double().parameters())
    seen: list[Tensor] = []
    task.meta_optimizer.register_step_pre_hook(
        lambda *_: seen.extend(p.grad.flatten() for p in params if p.grad is not None)
    )
    prepare(task)()
    return torch.cat(seen)

"""The meta-gradient of a model, optimizer and hook against an oracle that takes the step with torch itself, in fp64."""

import math
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from reweigh import Reweighter
from reweigh.core.check import InexactWarning

N, WIDTH, CLASSES = 8, 12, 3
LABELS, TRUSTED_LABELS = torch.arange(N) % CLASSES, torch.arange(6) % CLASSES
Model = Callable[[], nn.Module]
STEP = 1e-4


def data() -> tuple[Tensor, Tensor]:
    return tuple(torch.randn(N + 6, WIDTH, generator=torch.Generator().manual_seed(0)).split([N, 6]))


class Around(nn.Module):
    """A model of 12 numbers around something that takes ``shape`` and returns anything."""

    def __init__(self, inner: nn.Module | Callable[[Tensor], Any], shape: tuple[int, ...] = (WIDTH,)):
        super().__init__()
        self.first, self.shape = nn.Linear(WIDTH, math.prod(shape)), shape
        self.inner = inner
        self.last = nn.Linear(self.middle(torch.randn(2, WIDTH)).shape[1], CLASSES)

    def middle(self, x: Tensor) -> Tensor:
        out = self.inner(self.first(x).reshape(len(x), *self.shape))
        out = out[0] if isinstance(out, tuple) else out
        return out.reshape(len(x), -1)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.middle(x))


def seed() -> None:
    torch.manual_seed(0), random.seed(0), np.random.seed(0)


def build(model: Model, optimizer: Callable[..., Optimizer], hook: Callable[[nn.Module, Optimizer], Any] | None) -> Any:
    seed()
    network = model()
    trained = optimizer(
        [param for param in network.parameters() if param.requires_grad] + getattr(network, "unregistered", [])
    )
    if hook:
        hook(network, trained)
    seed()
    return network, trained


def losses_of(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs, labels, reduction="none")


def oracle(made: Callable[[], tuple[nn.Module, Optimizer]], weights: Tensor, loss: Any) -> Tensor:
    """< backward of the meta loss one step ahead, derivative of the parameters there by each weight >.

    That derivative is by central differences through torch's own backward and step, hooks and all.
    """
    inputs, trusted = data()

    def after(weights: Tensor) -> tuple[nn.Module, list[Tensor]]:
        network, optimizer = made()
        (weights @ loss(network(inputs), LABELS)).backward()
        optimizer.step()
        return network, [param for group in optimizer.param_groups for param in group["params"]]

    network, params = after(weights)
    torch.manual_seed(int(torch.randint(2**62, ())))
    meta = torch.autograd.grad(
        loss(network(trusted), TRUSTED_LABELS).mean(), params, allow_unused=True, materialize_grads=True
    )
    found = []
    for move in STEP * float(weights.mean()) * torch.eye(N):
        ends = zip(meta, after(weights + move)[1], after(weights - move)[1], strict=True)
        found.append(sum(float((grad * (ahead - behind)).sum()) for grad, ahead, behind in ends) / (2 * move.max()))
    return torch.stack(found)


def examine(
    model: Model,
    optimizer: Callable[..., Optimizer] = lambda params: SGD(params, 0.5, momentum=0.9),
    hook: Callable[[nn.Module, Optimizer], Any] | None = None,
    loss: Any = losses_of,
    **options: Any,
) -> tuple[float, list[str]]:
    """How far off the meta-gradient of the first step is, and what was said."""
    network, trained = build(model, optimizer, hook)
    inputs, trusted = data()
    reweighter = Reweighter(network, trained, LABELS, every=1, loss=loss, normalize="mean", **options)
    found: list[Tensor] = []
    learn = reweighter.weights.learn

    def watched(weights: Tensor, gradient: Tensor, reduce: Any) -> Tensor:
        found.extend((weights.detach().clone(), gradient.clone()))
        return learn(weights, gradient, reduce)

    reweighter.weights.learn = watched
    seed()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        reweighter.step(inputs, LABELS, trusted, TRUSTED_LABELS)
    weights, gradient = found
    expected = oracle(lambda: build(model, optimizer, hook), weights.double(), loss)
    error = float((gradient - expected).norm() / expected.norm())
    return error, [str(each.message) for each in said if each.category is InexactWarning]


def check(*case: Any, limit: float = 1e-6, **options: Any) -> None:
    for lookahead in ("virtual", "real"):
        error, said = examine(*case, lookahead=lookahead, **options)
        assert error < limit, lookahead
        assert not said


def around(inner: Any, shape: tuple[int, ...] = (WIDTH,)) -> Model:
    """The model around what ``inner`` is, or what it makes if it is a class or a function without arguments."""
    return lambda: Around(inner() if isinstance(inner, type) else inner, shape)

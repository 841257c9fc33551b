"""The step that an optimizer would take, taken on copies, and how it depends on the gradient."""

import inspect
import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer

from reweigh.core.rerun import Params
from reweigh.errors import RecipeError

logger = logging.getLogger(__name__)

State = Mapping[str, Any]


class Taken(NamedTuple):
    """One step on a parameter, of which each entry moves by its own gradient alone.

    Attributes:
        slope: The derivative of each entry by its gradient: a tensor, or one number for all entries.
        after: Computes the parameter after the step.
    """

    slope: Tensor | float
    after: Callable[[], Tensor]


Rule = Callable[[Tensor, Tensor, State, Mapping[str, Any]], Taken]
"""(parameter, gradient, its state in the optimizer, options of its group) -> the step."""


def gradient_step(param: Tensor, grad: Tensor, state: State, group: Mapping[str, Any]) -> Taken:
    """One plain step at the optimizer's learning rate. The published code, whatever the optimizer."""
    if group.get("lr") is None:
        raise RecipeError(
            "the look-ahead takes a step at the learning rate of the optimizer, which has none; give it one, such as "
            "optimizer.param_groups[0]['lr'] = 0.01 (every group), about as large as its steps are for a gradient of 1"
        )
    lr = float(group["lr"])
    return Taken(-lr, lambda: torch.add(param, grad, alpha=-lr))


def sgd_step(param: Tensor, grad: Tensor, state: State, group: Mapping[str, Any]) -> Taken:
    """SGD with weight decay, momentum, dampening and Nesterov's correction.

    p - lr * (share * (sign * g + decay * p) + kept * v), where v is the velocity before the step
    """
    lr, momentum, nesterov = float(group["lr"]), float(group["momentum"]), group["nesterov"]
    velocity = state.get("momentum_buffer") if momentum else None
    share = 1.0 if velocity is None else 1 - float(group["dampening"])
    kept = 0.0 if velocity is None else momentum**2 if nesterov else momentum
    if nesterov:
        share = 1 + momentum * share
    slope = (lr if group["maximize"] else -lr) * share

    def after() -> Tensor:
        ahead = torch.add(param, grad, alpha=slope)
        if group["weight_decay"]:
            ahead = ahead.add_(param, alpha=-lr * share * float(group["weight_decay"]))
        return ahead if velocity is None else ahead.add_(velocity, alpha=-lr * kept)

    return Taken(slope, after)


def adam_step(param: Tensor, grad: Tensor, state: State, group: Mapping[str, Any]) -> Taken:
    """Adam with weight decay added to the gradient, or decoupled as in AdamW.

    p - rate * m / d for the mean m and the divisor d = r + eps with the root r. Its slope is

        -rate * (m' / d - m d' / d^2),   m' = 1 - beta1,   d' = (1 - beta2) g / (r * unbiased)
    """
    lr, decay, (beta1, beta2) = float(group["lr"]), float(group["weight_decay"]), map(float, group["betas"])
    decoupled = group.get("decoupled_weight_decay", False)
    grad = -grad if group["maximize"] else grad
    if decay and not decoupled:
        grad = torch.add(grad, param, alpha=decay)
    step = _precise(state["step"]) + 1 if state else torch.ones((), dtype=torch.float64)
    rate, unbiased = lr / (1 - beta1**step), 1 - beta2**step
    zero = torch.zeros_like(param) if not state else None
    first = torch.lerp(state.get("exp_avg", zero), grad, 1 - beta1)
    second = latest = torch.addcmul(state.get("exp_avg_sq", zero) * beta2, grad, grad, value=1 - beta2)
    if group["amsgrad"] and state:
        second = torch.maximum(latest, state["max_exp_avg_sq"])
    # where a gradient was never anything but zero, the root has no slope; with a floor it is divided by no zero
    root = second.clamp_min(torch.finfo(param.dtype).tiny).sqrt_().div_(unbiased.sqrt())
    divisor = root + group["eps"]
    bend = grad * first / root / divisor * ((beta2 - 1) / unbiased)
    if second is not latest:  # the root does not follow the gradient where an earlier maximum is larger
        bend = bend * (second == latest)
    slope = bend.add_(1 - beta1).div_(divisor).mul_(rate if group["maximize"] else -rate)
    kept = 1 - lr * decay if decoupled else 1.0
    return Taken(slope, lambda: param * kept - first / divisor * rate)


def _precise(step: Tensor) -> Tensor:
    """The count of steps, so that one minus a power of 0.999 keeps its digits."""
    return step.double() if step.device.type == "cpu" else step.float()


RULES: dict[type[Optimizer], Rule] = {SGD: sgd_step, Adam: adam_step, AdamW: adam_step}


class Update:
    """The next step of ``optimizer``, taken on copies.

    Args:
        named: Parameters that move, by name; each must be in a group of the optimizer.
        plain: Whether to take a plain gradient step at its learning rate instead of its own.
    """

    def __init__(self, optimizer: Optimizer, named: Mapping[str, Tensor], plain: bool = False):
        self.optimizer = optimizer
        self._named = dict(named)
        self._groups = {id(p): index for index, group in enumerate(optimizer.param_groups) for p in group["params"]}
        rule = gradient_step if plain else RULES.get(type(optimizer))
        self.is_own = rule is not None and not plain
        if rule is None:
            logger.warning(
                "the step of %s is not known; the look-ahead takes a plain gradient step at its learning rate",
                type(optimizer).__name__,
            )
        self._rule: Rule = rule or gradient_step

    def __call__(self, params: Params, grads: Params) -> dict[str, Taken]:
        """The step at ``params`` along ``grads``; a parameter without a gradient stays, as it does in torch."""
        taken = {}
        for name, grad in grads.items():
            own = self._named[name]
            group = self.optimizer.param_groups[self._groups[id(own)]]
            taken[name] = self._rule(params[name], dense(grad), self.optimizer.state.get(own, {}), group)
        return taken


def inner_optimizer(optimizer: Optimizer) -> Optimizer:
    """The optimizer inside a wrapper, such as that of accelerate or Lightning: the look-ahead follows its rule."""
    while isinstance(inner := getattr(optimizer, "optimizer", None), Optimizer):
        optimizer = inner
    return optimizer


def refuse_closures(optimizer: Optimizer) -> None:
    """Raise a RecipeError if a step of the optimizer computes the loss several times, as LBFGS does."""
    if _needs_closure(type(optimizer)):
        raise RecipeError(
            f"{type(optimizer).__name__} computes the loss several times per step (it needs a closure); take SGD, Adam "
            "or AdamW, or own the backward: reweighter.learn(batch, meta_batch), then a closure of the losses weighted "
            "by reweighter.weigh(losses, labels)"
        )


@cache
def _needs_closure(kind: type[Optimizer]) -> bool:
    closure = inspect.signature(kind.step).parameters.get("closure")
    return closure is not None and closure.default is inspect.Parameter.empty


class LookAhead:
    """Parameters one step ahead, and the way back from a gradient there to a gradient of the step's own input.

    Args:
        update: The optimizer's step.
        params: Parameters before the step.
        grads: The gradient of the training objective at ``params``.
    """

    @torch.no_grad()
    def __init__(self, update: Update, params: Params, grads: Params):
        self._before = params
        self._taken = update(params, grads)

    @torch.no_grad()
    def params(self) -> Params:
        return {
            name: self._taken[name].after() if name in self._taken else param for name, param in self._before.items()
        }

    @torch.no_grad()
    def pull_back(self, vector: Params) -> tuple[Params, float]:
        """``vector`` times the Jacobian of the step with respect to the gradient: -lr * vector for plain SGD.

        Returns:
            A direction and a factor, whose product it is: a factor of all parameters costs no pass over them.
        """
        slopes = {name: taken.slope for name, taken in self._taken.items()}
        factors = {slope if isinstance(slope, float) else None for slope in slopes.values()}
        if len(factors) == 1 and (factor := factors.pop()) is not None:
            return {name: vector[name] for name in slopes}, factor
        return {name: vector[name] * slope for name, slope in slopes.items()}, 1.0


def dense(grad: Tensor) -> Tensor:
    """A gradient as a dense tensor: that of ``nn.Embedding(sparse=True)`` is not."""
    return grad if grad.layout is torch.strided else grad.to_dense()


def norm(tensors: list[Tensor]) -> Tensor:
    """The Euclidean norm of all entries of tensors on one device, scalar."""
    if not tensors:
        return torch.zeros(())
    return torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(tensor) for tensor in tensors]))

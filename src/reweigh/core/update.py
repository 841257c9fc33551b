"""The step that an optimizer would take, taken on copies, and how it depends on the gradient."""

# pyright: reportPrivateImportUsage=false

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer

from reweigh.core.rerun import Params
from reweigh.errors import RecipeError

logger = logging.getLogger(__name__)

State = Mapping[str, Any]
Tensors = list[Tensor] | tuple[Tensor, ...]
Slope = float | Tensors


class Taken(Protocol):
    """One step on the parameters of a group. Each entry moves by its own gradient alone."""

    def after(self) -> Tensors:
        """The parameters after the step."""
        ...

    def slope(self) -> Slope:
        """The derivative of each entry by its gradient: tensors, or one number for all entries."""
        ...


Rule = Callable[[Tensors, Tensors, list[State], Mapping[str, Any]], Taken]
"""(parameters, gradients, their states in the optimizer, options of their group) -> the step."""


class GradientStep:
    """One plain step at the optimizer's learning rate. The published code, whatever the optimizer."""

    def __init__(self, params: Tensors, grads: Tensors, states: list[State], group: Mapping[str, Any]):
        if group.get("lr") is None:
            raise RecipeError(
                "the look-ahead takes a step at the learning rate of the optimizer, which has none; give it one, such "
                "as optimizer.param_groups[0]['lr'] = 0.01 (every group), about as large as its steps are for a "
                "gradient of 1"
            )
        self._params, self._grads, self._lr = params, grads, float(group["lr"])

    def after(self) -> Tensors:
        return torch._foreach_add(self._params, self._grads, alpha=-self._lr)

    def slope(self) -> float:
        return -self._lr


class SGDStep:
    """SGD with weight decay, momentum, dampening and Nesterov's correction.

    Args:
        states: all with a velocity, or all without one (before the first step).
    """

    def __init__(self, params: Tensors, grads: Tensors, states: list[State], group: Mapping[str, Any]):
        self._params, self._grads, self._group = params, grads, group
        self._velocities: list[Any] = [state.get("momentum_buffer") for state in states]
        self._moving = bool(group["momentum"]) and self._velocities[0] is not None
        self._sign = -1 if group["maximize"] else 1

    def after(self) -> Tensors:
        """p - lr * (share * g + decay * p + momentum * v), where shares are as in ``_shares``."""
        share, decay, momentum = self._shares()
        lr = float(self._group["lr"])
        ahead = torch._foreach_add(self._params, self._grads, alpha=-lr * share)
        if decay:
            torch._foreach_add_(ahead, self._params, alpha=-lr * decay)
        if momentum:
            torch._foreach_add_(ahead, self._velocities, alpha=-lr * momentum)
        return ahead

    def slope(self) -> float:
        return -float(self._group["lr"]) * self._shares()[0]

    def _shares(self) -> tuple[float, float, float]:
        """How much of the gradient, of the parameters and of the velocity is in the direction of the step."""
        momentum, nesterov = self._group["momentum"], self._group["nesterov"]
        fresh = 1 - self._group["dampening"] if self._moving else 1
        share = fresh if momentum else 1
        if nesterov:
            share = 1 + momentum * fresh
        kept = (momentum**2 if nesterov else momentum) if self._moving else 0
        return self._sign * share, share * self._group["weight_decay"], kept


class AdamStep:
    """Adam with weight decay added to the gradient, or decoupled as in AdamW."""

    def __init__(self, params: Tensors, grads: Tensors, states: list[State], group: Mapping[str, Any]):
        self._params, self._group = params, group
        grads = torch._foreach_neg(grads) if group["maximize"] else grads
        decay = group["weight_decay"]
        if decay and not group.get("decoupled_weight_decay", False):
            grads = torch._foreach_add(grads, params, alpha=decay)
        self._grads = grads
        beta1, beta2 = group["betas"]
        before = states if "exp_avg" in states[0] else [{"exp_avg": z, "exp_avg_sq": z} for z in map(_zeros, params)]
        steps = torch.stack([torch.as_tensor(state.get("step", 0.0)) for state in states]) + 1
        self._unbiased = [1 - beta ** steps.to(params[0].dtype) for beta in (beta1, beta2)]
        self._first = torch._foreach_lerp([state["exp_avg"] for state in before], grads, 1 - beta1)
        second = torch._foreach_mul([state["exp_avg_sq"] for state in before], beta2)
        torch._foreach_addcmul_(second, grads, grads, 1 - beta2)
        self._latest = self._second = second
        if group["amsgrad"] and "max_exp_avg_sq" in states[0]:
            self._second = torch._foreach_maximum(second, [state["max_exp_avg_sq"] for state in states])
        # where a gradient was never anything but zero, the root has no slope; with a floor it is divided by no zero
        self._root = torch._foreach_clamp_min(self._second, torch.finfo(params[0].dtype).tiny)
        torch._foreach_sqrt_(self._root)
        torch._foreach_div_(self._root, list(self._unbiased[1].sqrt().unbind()))
        self._divisor = torch._foreach_add(self._root, group["eps"])

    def after(self) -> Tensors:
        lr, params = float(self._group["lr"]), self._params
        if self._group["weight_decay"] and self._group.get("decoupled_weight_decay", False):
            params = torch._foreach_mul(params, 1 - lr * self._group["weight_decay"])
        moves = torch._foreach_div(self._first, self._divisor)
        torch._foreach_mul_(moves, self._rates())
        return torch._foreach_add(params, moves)

    def slope(self) -> Tensors:
        """rate * (m / d)' for the mean m and the divisor d = r + eps with the root r:

        m' / d - m d' / d^2,   m' = 1 - beta1,   d' = (1 - beta2) g / (r * unbiased)
        """
        beta1, beta2 = self._group["betas"]
        slopes = torch._foreach_mul(self._grads, self._first)
        torch._foreach_div_(slopes, self._root)
        torch._foreach_div_(slopes, self._divisor)
        if self._second is not self._latest:  # the root does not follow the gradient where an earlier maximum is larger
            same = [kept == now for kept, now in zip(self._second, self._latest, strict=True)]
            torch._foreach_mul_(slopes, same)
        torch._foreach_mul_(slopes, list(((beta2 - 1) / self._unbiased[1]).unbind()))
        torch._foreach_add_(slopes, 1 - beta1)
        torch._foreach_div_(slopes, self._divisor)
        torch._foreach_mul_(slopes, self._rates())
        return torch._foreach_neg(slopes) if self._group["maximize"] else slopes

    def _rates(self) -> Tensors:
        return list((-float(self._group["lr"]) / self._unbiased[0]).unbind())


def _zeros(param: Tensor) -> Tensor:
    return torch.zeros_like(param)


RULES: dict[type[Optimizer], Rule] = {SGD: SGDStep, Adam: AdamStep, AdamW: AdamStep}


class _Part(NamedTuple):
    """Parameters of one group whose states are alike, and the step on them."""

    names: list[str]
    taken: Taken


class Update:
    """The next step of ``optimizer``, taken on copies.

    Args:
        named: the parameters that move, by name; each must be in a group of the optimizer.
        plain: take a plain gradient step at its learning rate instead of its own.
    """

    def __init__(self, optimizer: Optimizer, named: Mapping[str, Tensor], plain: bool = False):
        self._optimizer = optimizer
        self._named = dict(named)
        self._groups = {id(p): index for index, group in enumerate(optimizer.param_groups) for p in group["params"]}
        rule = GradientStep if plain else RULES.get(type(optimizer))
        if rule is None:
            logger.warning(
                "the step of %s is not known; the look-ahead takes a plain gradient step at its learning rate",
                type(optimizer).__name__,
            )
        self._rule: Rule = rule or GradientStep

    def __call__(self, params: Params, grads: Params) -> Iterator[_Part]:
        """The step at ``params`` along ``grads``; a parameter without a gradient stays, as it does in torch."""
        alike: dict[tuple[Any, ...], list[str]] = {}
        for name, grad in grads.items():
            own = self._named[name]
            kind = self._groups[id(own)], len(self._optimizer.state.get(own, ())), grad.dtype, grad.device
            alike.setdefault(kind, []).append(name)
        for kind, names in alike.items():
            states = [self._optimizer.state.get(self._named[name], {}) for name in names]
            of_group = [params[name] for name in names], [grads[name] for name in names]
            yield _Part(names, self._rule(*of_group, states, self._optimizer.param_groups[kind[0]]))


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
        update: the optimizer's step.
        params: parameters before the step.
        grads: the gradient of the training objective at ``params``.
    """

    def __init__(self, update: Update, params: Params, grads: Params):
        with torch.no_grad():
            self._before = params
            self._parts = list(update(params, {name: dense(grad) for name, grad in grads.items()}))
            self._slopes: list[Slope] = [part.taken.slope() for part in self._parts]

    @torch.no_grad()
    def params(self) -> Params:
        """The parameters after the step."""
        moved = {name: p for part in self._parts for name, p in zip(part.names, part.taken.after(), strict=True)}
        return {name: moved.get(name, param) for name, param in self._before.items()}

    @property
    def factor(self) -> float | None:
        """What ``pull_back`` multiplies by, if that is one number, as for SGD."""
        factors = {slope if isinstance(slope, float) else None for slope in self._slopes}
        return factors.pop() if len(factors) == 1 else None

    @torch.no_grad()
    def pull_back(self, vector: Params) -> tuple[Params, float]:
        """``vector`` times the Jacobian of the step with respect to the gradient: -lr * vector for plain SGD.

        Returns:
            A direction and a factor, whose product it is: a factor of all parameters costs no pass over them.
        """
        if self.factor is not None:
            moved = (name for part in self._parts for name in part.names)
            return {name: vector[name] for name in moved if name in vector}, self.factor
        pulled: Params = {}
        for part, slope in zip(self._parts, self._slopes, strict=True):
            pulled |= zip(part.names, torch._foreach_mul([vector[name] for name in part.names], slope), strict=True)
        return pulled, 1.0


def dense(grad: Tensor) -> Tensor:
    """A gradient as a dense tensor: that of ``nn.Embedding(sparse=True)`` is not."""
    return grad if grad.layout is torch.strided else grad.to_dense()

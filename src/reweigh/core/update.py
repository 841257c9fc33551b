"""The step that an optimizer would take, as a function that can be differentiated and changes nothing."""

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer

from reweigh.core.rerun import Params
from reweigh.errors import RecipeError

logger = logging.getLogger(__name__)

Rule = Callable[[Tensor, Tensor, Mapping[str, Any], Mapping[str, Any]], Tensor]
"""(parameter, gradient, its state in the optimizer, its group's options) -> the parameter after the step."""


def gradient_step(param: Tensor, grad: Tensor, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    """One plain step at the optimizer's learning rate. The published code, whatever the optimizer."""
    if group.get("lr") is None:
        raise RecipeError(
            "the look-ahead takes a step at the learning rate of the optimizer, which has none; give it one, such as "
            "optimizer.param_groups[0]['lr'] = 0.01 (every group), about as large as its steps are for a gradient of 1"
        )
    return param.sub(grad, alpha=float(group["lr"]))


def sgd(param: Tensor, grad: Tensor, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    """SGD with weight decay, momentum, dampening and Nesterov's correction.

    Written with scaled additions: a product of its own would cost one more pass over the parameters.
    """
    grad = _descending(grad, group)
    if group["weight_decay"]:
        grad = grad.add(param, alpha=group["weight_decay"])
    momentum = group["momentum"]
    if momentum:
        velocity = state.get("momentum_buffer")
        if velocity is None:
            velocity = grad
        else:
            fresh = grad if not group["dampening"] else grad * (1 - group["dampening"])
            velocity = fresh.add(velocity, alpha=momentum)
        grad = grad.add(velocity, alpha=momentum) if group["nesterov"] else velocity
    return param.sub(grad, alpha=float(group["lr"]))


def adam(param: Tensor, grad: Tensor, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    """Adam with weight decay added to the gradient, or decoupled as in AdamW; fused, as ``sgd`` is."""
    grad = _descending(grad, group)
    lr, decay = float(group["lr"]), group["weight_decay"]
    if decay:
        if group.get("decoupled_weight_decay", False):
            param = param * (1 - lr * decay)
        else:
            grad = grad.add(param, alpha=decay)
    beta1, beta2 = group["betas"]
    step = float(state.get("step", 0)) + 1
    unbiased = 1 - beta2**step
    nothing = torch.zeros_like(grad) if "exp_avg" not in state else None
    first = torch.lerp(state.get("exp_avg", nothing), grad, 1 - beta1)
    before = state.get("exp_avg_sq", nothing) * (beta2 / unbiased)
    second = torch.addcmul(before, grad, grad, value=(1 - beta2) / unbiased)
    if group["amsgrad"] and "max_exp_avg_sq" in state:
        second = torch.maximum(second, state["max_exp_avg_sq"] / unbiased)
    # where a gradient was never anything but zero, the root has no slope; the floor gives it the slope zero
    second = second.clamp_min(torch.finfo(second.dtype).tiny)
    return torch.addcdiv(param, first, second.sqrt() + group["eps"], value=-lr / (1 - beta1**step))


def _descending(grad: Tensor, group: Mapping[str, Any]) -> Tensor:
    return -grad if group["maximize"] else grad


RULES: dict[type[Optimizer], Rule] = {SGD: sgd, Adam: adam, AdamW: adam}


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
        rule = gradient_step if plain else RULES.get(type(optimizer))
        if rule is None:
            logger.warning(
                "the step of %s is not known; the look-ahead takes a plain gradient step at its learning rate",
                type(optimizer).__name__,
            )
        self._rule = rule or gradient_step

    def __call__(self, params: Params, grads: Params) -> Params:
        """Parameters after a step along ``grads``; a parameter without a gradient stays, as it does in torch."""
        return {
            name: self._step(name, param, grads[name]) if name in grads else param for name, param in params.items()
        }

    def _step(self, name: str, param: Tensor, grad: Tensor) -> Tensor:
        own = self._named[name]
        group = self._optimizer.param_groups[self._groups[id(own)]]
        return self._rule(param, grad, self._optimizer.state.get(own, {}), group)


def refuse_closures(optimizer: Optimizer) -> None:
    """Raise a RecipeError if a step of the optimizer computes the loss several times, as LBFGS does."""
    closure = inspect.signature(type(optimizer).step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise RecipeError(
            f"{type(optimizer).__name__} computes the loss several times per step (it needs a closure); take SGD, Adam "
            "or AdamW, or own the backward: reweighter.learn(batch, meta_batch), then a closure of the losses weighted "
            "by reweighter.weigh(losses, labels)"
        )


class LookAhead:
    """Parameters one step ahead, and the way back from a gradient there to a gradient of the step's own input.

    Args:
        update: the optimizer's step.
        params: parameters before the step.
        grads: the gradient of the training objective at ``params``.
    """

    def __init__(self, update: Update, params: Params, grads: Params):
        self._grads = {name: dense(grad.detach()).requires_grad_() for name, grad in grads.items()}
        with torch.enable_grad():
            self._after = update({name: param.detach() for name, param in params.items()}, self._grads)
        self.params = {name: param.detach() for name, param in self._after.items()}

    def pull_back(self, vector: Params) -> Params:
        """``vector`` times the Jacobian of the step with respect to the gradient: -lr * vector for plain SGD."""
        names = list(self._grads)
        pulled = torch.autograd.grad(
            [self._after[name] for name in names], list(self._grads.values()), [vector[name] for name in names]
        )
        return dict(zip(names, pulled, strict=True))


def dense(grad: Tensor) -> Tensor:
    """A gradient as a dense tensor: that of ``nn.Embedding(sparse=True)`` is not."""
    return grad if grad.layout is torch.strided else grad.to_dense()

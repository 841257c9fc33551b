"""Optimizers of the classifier, by name; options and defaults are spelled out here, not inherited from torch."""

from collections.abc import Iterable
from typing import Annotated

from annotated_types import Ge, Gt, Lt
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer

from reweigh.core.fast import can_fuse
from reweigh.errors import RecipeError

Rate = Annotated[float, Gt(0)]
Decay = Annotated[float, Ge(0)]
Momentum = Annotated[float, Ge(0), Lt(1)]


def sgd(
    params: Iterable[Tensor],
    *,
    lr: Rate = 0.1,
    momentum: Momentum = 0.9,
    weight_decay: Decay = 5e-4,
    nesterov: bool = False,
) -> Optimizer:
    """Stochastic gradient descent; the defaults are those of the paper's ResNet-32 experiments.

    Raises:
        RecipeError: Nesterov without momentum.
    """
    if nesterov and momentum == 0:
        raise RecipeError("optimizer.nesterov: true needs a momentum above 0, got momentum = 0; set momentum = 0.9")
    return SGD(params, lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov)


def adam(
    params: Iterable[Tensor],
    *,
    lr: Rate = 1e-3,
    betas: tuple[Momentum, Momentum] = (0.9, 0.999),
    eps: Rate = 1e-8,
    weight_decay: Decay = 0.0,
) -> Optimizer:
    """Adam; unlike in ``adamw``, the weight decay is added to the gradient."""
    params = list(params)
    return Adam(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=can_fuse(params))


def adamw(
    params: Iterable[Tensor],
    *,
    lr: Rate = 1e-3,
    betas: tuple[Momentum, Momentum] = (0.9, 0.999),
    eps: Rate = 1e-8,
    weight_decay: Decay = 0.01,
) -> Optimizer:
    """Adam with decoupled weight decay."""
    params = list(params)
    return AdamW(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=can_fuse(params))

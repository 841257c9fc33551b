"""One look-ahead step: how the loss on trusted data depends on the weights of a training batch."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from reweigh.core.layout import ChannelsLast
from reweigh.core.objective import Terms
from reweigh.core.products import Product
from reweigh.core.rerun import Params
from reweigh.core.update import LookAhead, Update


@dataclass
class MetaProblem:
    """What an engine differentiates: meta_loss(update(params, grad J(params; weights))) as a function of the weights.

    Attributes:
        weights: shape (slots,), normalized; J is linear in them.
        params: the parameters that the step moves, before the step. Paper: w.
        terms: J's terms at given parameters, by repeating the forward of the training batch.
        meta: the loss on trusted data at given parameters. Paper: L^meta.
        update: the optimizer's step.
        here: the terms already computed at ``params``, with their graph; None if the graph is gone.
        coefficients: the coefficients at ``params``, where they are known; shape (slots,), no graph.
        products: the products of the forward at ``params``, in order, as far as they are known.
        ahead: the step already taken; None if it is still to be computed. Paper: w-hat.
        landed: where the model is after the step, if it was really taken; else ``ahead.params``.
        rearranged: repetitions may lay tensors out in memory as they like; not where the forward drew random numbers:
            these fill tensors in the order of memory, and a repetition must drop the same units.
        seen: the meta loss where it was last evaluated.
        reduce: averages tensors over processes, in place.
    """

    weights: Tensor
    params: Params
    terms: Callable[[Params], Terms]
    meta: Callable[[Params], Tensor]
    update: Update
    here: Terms | None = None
    coefficients: Tensor | None = None
    products: list[Product] = field(default_factory=list)
    ahead: LookAhead | None = None
    landed: Params | None = None
    rearranged: bool = True
    seen: Tensor | None = None
    reduce: Callable[[list[Tensor]], None] = lambda tensors: None

    def layout(self) -> AbstractContextManager[Any]:
        """Inside, the forward of the training batch is repeated."""
        return ChannelsLast() if self.rearranged else nullcontext()

    def meta_loss(self, params: Params) -> Tensor:
        """The loss on trusted data at ``params``, remembered in ``seen``."""
        loss = self.meta(params)
        self.seen = loss.detach()
        return loss

    def direction(self) -> Params:
        """How the meta loss changes with the training gradient: the meta gradient, pulled back through the step."""
        ahead = self.ahead or LookAhead(self.update, self.params, self.gradient())
        landed = self.landed or ahead.params
        leaves = {name: param.detach().requires_grad_() for name, param in landed.items()}
        with torch.enable_grad(), ChannelsLast():
            loss = self.meta_loss(leaves)
            grads = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True, materialize_grads=True)
        self.reduce(list(grads))
        return ahead.pull_back(dict(zip(leaves, grads, strict=True)))

    def gradient(self) -> Params:
        """The gradient of J at ``params``; a parameter that J does not touch is left out."""
        with torch.enable_grad():
            params, here = self.params, self.here
            if here is None:
                params = {name: param.detach().requires_grad_() for name, param in params.items()}
                here = self.terms(params)
            loss = torch.dot(self.weights.to(here.coefficients.dtype), here.coefficients) + here.rest
            grads = torch.autograd.grad(loss, list(params.values()), retain_graph=True, allow_unused=True)
        found = {name: grad for name, grad in zip(params, grads, strict=True) if grad is not None}
        self.reduce(list(found.values()))
        return found


Engine = Callable[[MetaProblem], Tensor]
"""The gradient of the meta loss with respect to ``problem.weights``, of the same shape."""

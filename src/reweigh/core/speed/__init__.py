"""Tricks that make the repeated forwards of a step cheaper. Without this folder every result would be the same."""

from contextlib import ExitStack, nullcontext

import torch
from torch import Tensor, nn

from reweigh.core.objective import Forward, MetaObjective, Objective, Terms
from reweigh.core.rerun import Params
from reweigh.core.speed.duals import FastDuals, Product, Recording
from reweigh.core.speed.features import Features
from reweigh.core.speed.first_layers import FirstLayers
from reweigh.core.speed.kernels import parts
from reweigh.core.speed.layout import ChannelsLast


class Tricks:
    """The objectives of one step, made cheaper; each method returns an objective with the same values.

    Args:
        model: a plain module.
        part: the parameters that the look-ahead moves, if these are not all: what the model computes before it uses
            one of them is kept. None keeps products of layers instead.
    """

    def __init__(self, model: nn.Module, part: Params | None):
        self._features = Features(model, part) if part else None
        self._layers = FirstLayers(model)
        self._images = any(param.dim() == 4 for param in model.parameters())  # weights of convolutions
        self._model = model
        self._products: list[Product] = []
        self._duals = True  # the engine asks for them, as far as is known
        self._rearranged = True
        self._mixed = False

    def first(self, objective: Objective, products: bool, before: Params | None = None) -> Objective:
        """The first forward of a batch; keeps what its repetitions can use.

        Args:
            products: keep products of layers, and what first layers read; a compiled model does not show them.
            before: copies of the parameters at which the repetition will be, if the model's own change until then.
                Autograd has freed the products of layers by that time; so these are kept only if they are small.
        """
        recording = Recording(self._model, before) if products and self._duals and not self._features else None

        def watched(forward: Forward) -> Terms:
            before, self._mixed = torch.get_rng_state() if self._images else None, _is_mixed()
            self._layers.forget()
            layers = self._layers.record() if products and not self._features and not self._mixed else nullcontext()
            with layers, self._features.record() if self._features else recording or nullcontext():
                terms = objective(forward)
            self._layers.check(terms.coefficients)
            # random numbers fill a tensor in the order of memory: in another layout, dropout would drop other units
            self._rearranged = before is not None and torch.equal(before, torch.get_rng_state())
            self._products = recording.products() if recording else []
            return terms

        return watched

    def again(self, objective: Objective, params: Params) -> Objective:
        """The same forward at ``params``, which may be dual numbers."""

        def repeated(forward: Forward) -> Terms:
            with ExitStack() as stack:
                if self._features and self._mixed == _is_mixed():
                    stack.enter_context(self._features.replay())
                self._duals = any(parts(param)[1] is not None for param in params.values())
                if self._duals:
                    kept = [product for product in self._products if not self._layers.has(product.output)]
                    stack.enter_context(FastDuals(kept, self._rearranged))
                stack.enter_context(self._layers.replay(params))
                if self._images and self._rearranged and not torch.is_grad_enabled():
                    stack.enter_context(ChannelsLast())
                return objective(forward)

        return repeated

    def elsewhere(self, objective: MetaObjective, leaves: Params) -> MetaObjective:
        """The forward of another batch, which is not repeated; after the first forward.

        Args:
            leaves: parameters whose ``gradient`` is asked for, and is used as a direction up to a factor.
        """

        def laid_out(forward: Forward) -> Tensor:
            layout = ChannelsLast() if self._images and self._rearranged else nullcontext()
            with layout, self._layers.apart(leaves):
                return objective(forward)

        return laid_out

    def gradient(self, loss: Tensor, leaves: Params) -> Params:
        """The gradient of what ``elsewhere`` returned, zero where it does not depend on a leaf."""
        return self._layers.gradient(loss, leaves)

    def shorten(self, at: Params, along: Params) -> tuple[Params, Params]:
        """Where and along what to repeat the first forward: a direction that contains such a gradient, and the rest."""
        return self._layers.shorten(at, along)

    def forget(self) -> None:
        """Free what was kept."""
        self._products = []
        self._layers.forget()
        if self._features:
            self._features.forget()


def _is_mixed() -> bool:
    """Whether autocast is on, so that features are in half precision."""
    return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")

"""Tricks that make the repeated forwards of a step cheaper. Without this folder every result would be the same."""

from contextlib import ExitStack, nullcontext

import torch
from torch import Tensor, nn
from torch.autograd.forward_ad import unpack_dual

from reweigh.core.objective import Forward, MetaObjective, Objective, Terms
from reweigh.core.rerun import Params
from reweigh.core.speed.duals import FastDuals, Product, Recording
from reweigh.core.speed.features import Features
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
        self._images = any(param.dim() == 4 for param in model.parameters())  # weights of convolutions
        self._model = model
        self._products: list[Product] = []
        self._duals = True  # the engine asks for them, as far as is known
        self._rearranged = True
        self._mixed = False

    def first(self, objective: Objective, products: bool, before: Params | None = None) -> Objective:
        """The first forward of a batch; keeps what its repetitions can use.

        Args:
            products: keep products of layers; a compiled model does not show them.
            before: copies of the parameters at which the repetition will be, if the model's own change until then.
                Autograd has freed the products of layers by that time; so these are kept only if they are small.
        """
        recording = Recording(self._model, before) if products and self._duals and not self._features else None

        def watched(forward: Forward) -> Terms:
            before, self._mixed = torch.get_rng_state(), _is_mixed()
            with self._features.record() if self._features else recording or nullcontext():
                terms = objective(forward)
            # random numbers fill a tensor in the order of memory: in another layout, dropout would drop other units
            self._rearranged = torch.equal(before, torch.get_rng_state())
            self._products = recording.products() if recording else []
            return terms

        return watched

    def again(self, objective: Objective, params: Params) -> Objective:
        """The same forward at ``params``, which may be dual numbers."""

        def repeated(forward: Forward) -> Terms:
            with ExitStack() as stack:
                if self._features and self._mixed == _is_mixed():
                    stack.enter_context(self._features.replay())
                self._duals = any(unpack_dual(param).tangent is not None for param in params.values())
                if self._duals:
                    stack.enter_context(FastDuals(self._products, self._rearranged))
                if self._images and self._rearranged and not torch.is_grad_enabled():
                    stack.enter_context(ChannelsLast())
                return objective(forward)

        return repeated

    def elsewhere(self, objective: MetaObjective) -> MetaObjective:
        """The forward of another batch, which is not repeated; after the first forward."""

        def laid_out(forward: Forward) -> Tensor:
            with ChannelsLast() if self._images and self._rearranged else nullcontext():
                return objective(forward)

        return laid_out

    def forget(self) -> None:
        """Free what was kept."""
        self._products = []
        if self._features:
            self._features.forget()


def _is_mixed() -> bool:
    """Whether autocast is on, so that features are in half precision."""
    return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")

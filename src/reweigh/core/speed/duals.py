"""Faster forward mode, which also reuses the products of the first forward."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from reweigh.core.rerun import Params
from reweigh.core.speed.kernels import KERNELS, dual, parts
from reweigh.core.speed.layout import in_layout_of

PRODUCTS = (torch.conv1d, torch.conv2d, torch.conv3d, F.linear)
"""Operations (inputs, weight, bias, ...) that are linear in the inputs and linear in the weight."""


class Product(NamedTuple):
    """The output of one such operation, and what shows that it is still valid."""

    output: Tensor
    version: int
    weight: int

    def belongs_to(self, weight: Tensor) -> bool:
        """Whether it is the output of a product with ``weight`` and was not changed in place since."""
        return self.weight == weight.data_ptr() and self.version == self.output._version


class Recording(TorchFunctionMode):
    """Inside, the output of each product is kept, in order. Autograd keeps most of them for its backward anyway.

    Args:
        model: the module that is called inside.
        copies: what its parameters are now, if they change before the products are used. Then the products are held
            beyond the backward, and only as long as they take less memory than the parameters themselves.
    """

    def __init__(self, model: nn.Module, copies: Params | None = None) -> None:
        super().__init__()
        self._kept: list[Product] = []
        own = dict(model.named_parameters()) if copies else {}
        self._copies = {own[name].data_ptr(): copy.data_ptr() for name, copy in (copies or {}).items()}
        self._room = sum(param.numel() for param in own.values()) if copies else math.inf

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        if func in PRODUCTS and len(args) > 1:
            self._keep(output, args[1].data_ptr())
        return output

    def _keep(self, output: Tensor, weight: int) -> None:
        self._room -= output.numel()
        if self._room >= 0:
            self._kept.append(Product(output.detach(), output._version, self._copies.get(weight, weight)))

    def products(self) -> list[Product]:
        """All of them, or none if there was not enough room."""
        return self._kept if self._room >= 0 else []


class FastDuals(TorchFunctionMode):
    """Inside, dual numbers pass through products (convolutions, linear layers) and what is in ``KERNELS`` faster.

    Args:
        kept: the products of the same forward at the same parameters, in order; these are not computed again.
        rearranged: whether their layout in memory may be changed.
    """

    def __init__(self, kept: list[Product], rearranged: bool = True):
        super().__init__()
        self._kept = iter(kept)
        self._rearranged = rearranged

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in PRODUCTS and len(args) > 1:
            return self._product(func, *args, **(kwargs or {}))
        return KERNELS.get(func, func)(*args, **(kwargs or {}))

    def _product(
        self, product: Callable[..., Tensor], inputs: Tensor, weight: Tensor, bias: Tensor | None = None,
        *options: Any, **named: Any,
    ) -> Tensor:  # fmt: skip
        """d product(x, w) = product(dx, w) + product(x, dw)"""
        (x, dx), (w, dw), (b, db) = parts(inputs), parts(weight), parts(bias)
        kept = next(self._kept, None)
        if kept is not None and kept.belongs_to(w):
            y = in_layout_of(x, kept.output) if self._rearranged else kept.output
        else:  # the two forwards went different ways: trust nothing that follows
            y = product(x, w, b, *options, **named)
            self._kept = iter(())
        if product is F.linear and dx is not None and dw is not None and y.dim() == 2:
            slope = torch.addmm(torch.mm(dx, w.t()), x, dw.t())
            return dual(y, slope if db is None else slope.add_(db))
        slopes = [product(dx, w, None, *options, **named)] if dx is not None else []
        slopes += [product(x, dw, db, *options, **named)] if dw is not None else []
        if dw is None and db is not None:
            slopes += [(db if product is F.linear else db.reshape(-1, *[1] * (y.dim() - 2))).expand(y.shape)]
        if not slopes:
            return y
        return dual(y, slopes[0] if len(slopes) == 1 else slopes[0].add_(slopes[1]))

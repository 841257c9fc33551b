"""Faster forward mode for products and BatchNorm, which also reuses the products of the first forward."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.forward_ad import make_dual, unpack_dual
from torch.overrides import TorchFunctionMode

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
    """Inside, the output of each product is kept, in order. Autograd keeps most of them for its backward anyway."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Product] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        if func in PRODUCTS and len(args) > 1:
            self.kept.append(Product(output.detach(), output._version, args[1].data_ptr()))
        return output


class FastDuals(TorchFunctionMode):
    """Inside, dual numbers pass through products (convolutions, linear layers) and BatchNorm by the kernels below.

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
        if func is F.batch_norm:
            return batch_norm(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _product(
        self, product: Callable[..., Tensor], inputs: Tensor, weight: Tensor, bias: Tensor | None = None,
        *options: Any, **named: Any,
    ) -> Tensor:  # fmt: skip
        """d product(x, w) = product(dx, w) + product(x, dw)"""
        (x, dx), (w, dw), (b, db) = unpack_dual(inputs), unpack_dual(weight), _unpack(bias)
        kept = next(self._kept, None)
        if kept is not None and kept.belongs_to(w):
            y = in_layout_of(x, kept.output) if self._rearranged else kept.output
        else:  # the two forwards went different ways: trust nothing that follows
            y = product(x, w, b, *options, **named)
            self._kept = iter(())
        slopes = [product(dx, w, None, *options, **named)] if dx is not None else []
        slopes += [product(x, dw, db, *options, **named)] if dw is not None else []
        if dw is None and db is not None:
            slopes += [(db if product is F.linear else db.reshape(-1, *[1] * (y.dim() - 2))).expand(y.shape)]
        if not slopes:
            return y
        return make_dual(y, slopes[0] if len(slopes) == 1 else slopes[0].add_(slopes[1]))


def batch_norm(
    inputs: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """BatchNorm of a dual number.

    The Jacobian of the normalization is symmetric but for the scale, so the kernel of torch's backward computes the
    forward derivative as well; the derivatives of scale and shift are one linear function of the input.
    """
    (x, dx), (w, dw), (b, db) = unpack_dual(inputs), _unpack(weight), _unpack(bias)
    mixed = w is not None and w.dtype != x.dtype
    if not training or mixed or (dx is None and dw is None):
        return F.batch_norm(inputs, running_mean, running_var, weight, bias, training, momentum, eps)
    y, mean, inverse = torch.native_batch_norm(x, w, b, running_mean, running_var, True, momentum, eps)
    slope = None
    if dx is not None:
        slope = torch.ops.aten.native_batch_norm_backward(
            dx, x, w, None, None, mean, inverse, True, eps, [True, False, False]
        )[0]
    if dw is not None:
        shape = (1, -1, *[1] * (x.dim() - 2))
        scale = dw * inverse
        shift = (-scale * mean if db is None else db - scale * mean).view(shape)
        scale = scale.view(shape)
        slope = torch.addcmul(shift, x, scale) if slope is None else slope.addcmul_(x, scale).add_(shift)
    elif db is not None and slope is not None:
        slope = slope + db.view(1, -1, *[1] * (x.dim() - 2))
    return y if slope is None else make_dual(y, slope)


def _unpack(tensor: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    if tensor is None:
        return None, None
    value, slope = unpack_dual(tensor)
    return value, slope

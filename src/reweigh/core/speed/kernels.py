"""Operations on dual numbers (a value and its slope) that torch computes more slowly than need be.

Where one operand of a sum or a product is no dual number, torch works out the zero slope of it in Python, which takes
longer than a layer of a small network.
"""

# pyright: reportPrivateImportUsage=false

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.core.sparse import SparseBatch


def parts(operand: Any) -> tuple[Any, Tensor | None]:
    """Value and slope of an operand; the slope of what is no dual number is None."""
    if not isinstance(operand, Tensor) or isinstance(operand, SparseBatch):
        return operand, None
    return torch._VF._unpack_dual(operand, level=0)


def dual(value: Tensor, slope: Tensor | None) -> Tensor:
    """The dual number of a value and its slope, of the same shape; without a slope the value as it is."""
    return value if slope is None else torch._VF._make_dual(value, slope, level=0)


def multiply(product: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A product of a dual number and a constant."""

    def kernel(left: Any, right: Any, **options: Any) -> Tensor:
        (x, dx), (y, dy) = parts(left), parts(right)
        if options or (dx is None) == (dy is None):
            return product(left, right, **options)
        return dual(product(x, y), product(x, dy) if dx is None else product(dx, y))

    return kernel


def add(total: Callable[..., Tensor], sign: int) -> Callable[..., Tensor]:
    """The sum, or with ``sign`` -1 the difference, of a dual number and a constant."""

    def kernel(left: Any, right: Any, **options: Any) -> Tensor:
        (x, dx), (y, dy) = parts(left), parts(right)
        if options or (dx is None) == (dy is None):
            return total(left, right, **options)
        value, slope = total(x, y), dx if dy is None else dy if sign > 0 else -dy
        assert slope is not None
        return dual(value, slope.to(value.dtype).expand(value.shape))

    return kernel


def divide(quotient: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A dual number divided by a constant."""

    def kernel(left: Any, right: Any, **options: Any) -> Tensor:
        (x, dx), (y, dy) = parts(left), parts(right)
        if options or dx is None or dy is not None:
            return quotient(left, right, **options)
        return dual(quotient(x, y), quotient(dx, y))

    return kernel


def dropout(inputs: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """The same units are dropped as from a tensor that is no dual number."""
    x, dx = parts(inputs)
    if inplace or dx is None or not training:
        return F.dropout(inputs, p, training, inplace)
    kept = F.dropout(torch.ones_like(x), p)
    return dual(x * kept, dx * kept)


def cross_entropy(
    logits: Tensor, labels: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Cross-entropy with labels that are rows of probabilities.

    d loss  =  - sum_k q_k d log p_k
    """
    (z, dz), (q, dq) = parts(logits), parts(labels)
    others = weight is not None or size_average is not None or reduce is not None or label_smoothing
    if others or reduction != "none" or dz is None or dq is not None or q.shape != z.shape or z.dim() != 2:
        return F.cross_entropy(logits, labels, weight, size_average, ignore_index, reduce, reduction, label_smoothing)
    log = torch.log_softmax(z, 1)
    slope = dz - (log.exp() * dz).sum(1, keepdim=True)
    return dual(-(q * log).sum(1), -(q * slope).sum(1))


def attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(q k' / sqrt(width)) v; of torch's kernels only the slowest has a forward mode.

    The Jacobian of softmax is symmetric, so the kernel of its backward computes the forward derivative as well.
    """
    (q, dq), (k, dk), (v, dv), (mask, dmask) = parts(query), parts(key), parts(value), parts(attn_mask)
    if dq is None or dk is None or dv is None or dmask is not None or dropout_p or is_causal or enable_gqa:
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    by = q.shape[-1] ** -0.5 if scale is None else scale
    q, dq, k, dk = q * by, dq * by, k.transpose(-2, -1), dk.transpose(-2, -1)
    scores = q @ k
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    shares = torch.ops.aten._safe_softmax(scores, -1)
    slopes = torch._softmax_backward_data((dq @ k).add_(q @ dk), shares, -1, shares.dtype)
    return dual(shares @ v, (slopes @ v).add_(shares @ dv))


def batch_norm(
    inputs: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """BatchNorm of a dual number.

    The Jacobian of the normalization is symmetric but for the scale, so the kernel of torch's backward computes the
    forward derivative as well; the derivatives of scale and shift are one linear function of the input.
    """
    (x, dx), (w, dw), (b, db) = parts(inputs), parts(weight), parts(bias)
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
    return y if slope is None else dual(y, slope)


KERNELS: dict[Callable[..., Any], Callable[..., Tensor]] = {
    F.batch_norm: batch_norm,
    F.dropout: dropout,
    F.cross_entropy: cross_entropy,
    F.scaled_dot_product_attention: attention,
    **{product: multiply(product) for product in (torch.mul, Tensor.mul)},
    **{total: add(total, 1) for total in (torch.add, Tensor.add)},
    **{difference: add(difference, -1) for difference in (torch.sub, Tensor.sub)},
    **{quotient: divide(quotient) for quotient in (torch.div, Tensor.div)},
}

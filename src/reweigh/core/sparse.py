"""A batch of sparse rows that models and methods may treat as a tensor."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.core.objective import map_tensors


class SparseBatch(Tensor):
    """Rows of which most entries are zero; stays sparse where batches are cut, scaled, mixed and multiplied.

    It passes for a tensor of shape (n, D). ``times`` multiplies it by a matrix without the zeros. Any operation that is
    not listed in ``KEPT`` gets the dense rows instead: slower, never wrong.

    Attributes:
        matrix: The rows, a SciPy CSR array.
    """

    matrix: Any
    _rows: "Rows | None"

    @staticmethod
    def __new__(cls, matrix: Any, dtype: torch.dtype = torch.float32, device: Any = "cpu") -> "SparseBatch":
        self = Tensor._make_wrapper_subclass(cls, matrix.shape, dtype=dtype, device=device)  # pyright: ignore
        self.matrix, self._rows = matrix, None
        return self

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def dense(self) -> Tensor:
        """The same rows as an ordinary tensor."""
        return torch.from_numpy(self.matrix.toarray()).to(self.device, self.dtype)

    def scaled(self, columns: Tensor, limit: float | None = None) -> "SparseBatch":
        """The rows with each column multiplied by its number in ``columns``, shape (D,), and clipped to ``limit``."""
        found = self.matrix.copy()
        found.data = found.data * columns.cpu().numpy()[found.indices]
        if limit is not None:
            found.data = found.data.clip(-limit, limit)
        return SparseBatch(found, self.dtype, self.device)

    def times(self, weight: Tensor) -> Tensor:
        """The product with a matrix of shape (D, width): shape (n, width), differentiable by ``weight`` in any way."""
        if self._rows is None:
            self._rows = Rows(self.matrix, self.device)
        return Product.apply(self._rows, weight)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in METADATA:
            return super().__torch_function__(func, types, args, kwargs)
        found = KEPT[func](*args, **(kwargs or {})) if func in KEPT else NotImplemented
        return cls.__torch_dispatch__(func, types, args, kwargs) if found is NotImplemented else found

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        dense, named = map_tensors(_densely, args), map_tensors(_densely, kwargs or {})
        return func(*dense, **named)


def _densely(tensor: Tensor) -> Tensor:
    return tensor.dense() if isinstance(tensor, SparseBatch) else tensor


class Rows:
    """A constant sparse matrix as torch multiplies it fastest: as weighted bags of rows of the other factor."""

    def __init__(self, matrix: Any, device: torch.device):
        self._matrix, self._device = matrix, device
        wide = (each.astype(np.int64, copy=False) for each in (matrix.indices, matrix.indptr[:-1]))
        parts = *wide, matrix.data
        self._columns, self._starts, self._values = (torch.from_numpy(part).to(device) for part in parts)
        self._transposed: Rows | None = None

    def __matmul__(self, dense: Tensor) -> Tensor:
        values = self._values.to(dense.dtype)
        return F.embedding_bag(self._columns, dense.contiguous(), self._starts, mode="sum", per_sample_weights=values)

    def t(self) -> "Rows":
        if self._transposed is None:
            self._transposed = Rows(self._matrix.T.tocsr(), self._device)
        return self._transposed


class Product(torch.autograd.Function):
    """A constant sparse matrix times a dense one: linear in the dense one, and so is each of its derivatives."""

    @staticmethod
    def forward(ctx: Any, rows: Rows, dense: Tensor) -> Tensor:
        ctx.rows = rows
        return rows @ dense

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        return None, Product.apply(ctx.rows.t(), grads[0])

    @staticmethod
    def jvp(ctx: Any, *slopes: Any) -> Tensor:
        return ctx.rows @ slopes[1]


def _cut(batch: Any, index: Any) -> Any:
    if isinstance(index, Tensor) and index.dim() == 1:
        index = index.cpu().numpy()
    elif not isinstance(index, slice):
        return NotImplemented
    return SparseBatch(batch.matrix[index], batch.dtype, batch.device)


def _multiply(batch: Any, other: Any) -> Any:
    if not isinstance(other, float | int):
        return NotImplemented
    return SparseBatch(batch.matrix * batch.matrix.dtype.type(other), batch.dtype, batch.device)


def _add(batch: Any, other: Any) -> Any:
    if not (isinstance(batch, SparseBatch) and isinstance(other, SparseBatch)):
        return NotImplemented
    return SparseBatch(batch.matrix + other.matrix, batch.dtype, batch.device)


def _to(batch: Any, target: Any, *options: Any, **named: Any) -> Any:
    if not isinstance(batch, SparseBatch) or isinstance(target, Tensor) or options or named:
        return NotImplemented
    if isinstance(target, torch.dtype):
        return SparseBatch(batch.matrix, target, batch.device) if target.is_floating_point else NotImplemented
    return batch if torch.device(target) == batch.device else SparseBatch(batch.matrix, batch.dtype, target)


def _linear(batch: Any, weight: Any, bias: Any = None) -> Any:
    if not isinstance(batch, SparseBatch):
        return NotImplemented
    product = batch.times(weight.t())
    return product if bias is None else product + bias


def _as_is(batch: Any, *_: Any, **__: Any) -> Any:
    return batch


KEPT: dict[Callable[..., Any], Callable[..., Any]] = {
    Tensor.__getitem__: _cut,
    Tensor.mul: _multiply,
    Tensor.add: _add,
    Tensor.to: _to,
    Tensor.float: lambda batch: _to(batch, torch.float32),
    Tensor.double: lambda batch: _to(batch, torch.float64),
    Tensor.flatten: lambda batch, start_dim=0, end_dim=-1: batch if start_dim == 1 else NotImplemented,
    F.linear: _linear,
    Tensor.detach: _as_is,
    Tensor.contiguous: _as_is,
}
"""What stays sparse; each may return ``NotImplemented`` for arguments with which it would not."""

METADATA = {
    Tensor.dim, Tensor.size, Tensor.numel, Tensor.is_floating_point, torch.is_floating_point, Tensor.__len__,
    *(getattr(Tensor, name).__get__ for name in ("shape", "dtype", "device", "ndim", "requires_grad", "is_meta")),
}  # fmt: skip

"""A batch of sparse rows that models and methods may treat as a tensor."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.core.objective import map_tensors


class Entries(NamedTuple):
    """The entries of sparse rows, row by row; SciPy's CSR without its checks, which take longer than a small product.

    Attributes:
        offsets: shape (n + 1,), where each row begins, and the end.
        columns: column of each entry; a row may have several entries of one column, which add up.
        values: value of each entry.
        width: number of columns.
    """

    offsets: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    width: int

    def rows(self, index: Any) -> "Entries":
        """The rows at ``index``: indices, a mask or a slice."""
        starts, lengths = self.offsets[:-1][index], np.diff(self.offsets)[index]
        offsets = _offsets(lengths)
        found = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return Entries(offsets, self.columns[found], self.values[found], self.width)

    def __add__(self, other: "Entries") -> "Entries":  # pyright: ignore[reportIncompatibleMethodOverride]
        mine, its = np.diff(self.offsets), np.diff(other.offsets)
        offsets = _offsets(mine + its)
        first = np.arange(len(self.columns)) + np.repeat(offsets[:-1] - self.offsets[:-1], mine)
        second = np.arange(len(other.columns)) + np.repeat(offsets[:-1] + mine - other.offsets[:-1], its)
        columns, values = np.empty(offsets[-1], self.columns.dtype), np.empty(offsets[-1], self.values.dtype)
        columns[first], columns[second] = self.columns, other.columns
        values[first], values[second] = self.values, other.values
        return Entries(offsets, columns, values, self.width)

    def t(self) -> "Entries":
        """Columns as rows."""
        order = np.argsort(self.columns, kind="stable")
        rows = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))[order]
        counts = np.bincount(self.columns, minlength=self.width)
        return Entries(_offsets(counts), rows, self.values[order], len(self.offsets) - 1)

    def dense(self) -> np.ndarray:
        """All entries and the zeros between them, shape (n, width)."""
        found = np.zeros((len(self.offsets) - 1, self.width), self.values.dtype)
        rows = np.repeat(np.arange(len(found)), np.diff(self.offsets))
        np.add.at(found, (rows, self.columns), self.values)
        return found


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)])


class SparseBatch(Tensor):
    """Rows of which most entries are zero; stays sparse where batches are cut, scaled, mixed and multiplied.

    It passes for a tensor of shape (n, D). ``times`` multiplies it by a matrix without the zeros. Any operation that is
    not listed in ``KEPT`` gets the dense rows instead: slower, never wrong.

    Attributes:
        entries: the entries of n rows of D columns.
    """

    entries: Entries
    _rows: "Rows | None"

    @staticmethod
    def __new__(cls, entries: Entries, dtype: torch.dtype = torch.float32, device: Any = "cpu") -> "SparseBatch":
        shape = len(entries.offsets) - 1, entries.width
        self = Tensor._make_wrapper_subclass(cls, shape, dtype=dtype, device=device)  # pyright: ignore
        self.entries, self._rows = entries, None
        return self

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def dense(self) -> Tensor:
        """The same rows as an ordinary tensor."""
        return torch.from_numpy(self.entries.dense()).to(self.device, self.dtype)

    def scaled(self, columns: Tensor, limit: float | None = None) -> "SparseBatch":
        """The rows with each column multiplied by its number in ``columns``, shape (D,), and clipped to ``limit``."""
        values = self.entries.values * columns.cpu().numpy()[self.entries.columns]
        values = values if limit is None else values.clip(-limit, limit)
        return SparseBatch(self.entries._replace(values=values), self.dtype, self.device)

    def times(self, weight: Tensor) -> Tensor:
        """The product with a matrix of shape (D, width): shape (n, width), differentiable by ``weight`` in any way."""
        if self._rows is None:
            self._rows = Rows(self.entries, self.device)
        return Product.apply(self._rows, weight)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in METADATA:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
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

    def __init__(self, entries: Entries, device: torch.device):
        self._entries, self._device = entries, device
        wide = (each.astype(np.int64, copy=False) for each in (entries.columns, entries.offsets[:-1]))
        parts = *wide, entries.values
        self._columns, self._starts, self._values = (torch.from_numpy(part).to(device) for part in parts)
        self._transposed: Rows | None = None

    def __matmul__(self, dense: Tensor) -> Tensor:
        values = self._values.to(dense.dtype)
        return F.embedding_bag(self._columns, dense.contiguous(), self._starts, mode="sum", per_sample_weights=values)

    def t(self) -> "Rows":
        if self._transposed is None:
            self._transposed = Rows(self._entries.t(), self._device)
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
    return SparseBatch(batch.entries.rows(index), batch.dtype, batch.device)


def _multiply(batch: Any, other: Any) -> Any:
    if not isinstance(other, float | int):
        return NotImplemented
    values = batch.entries.values * batch.entries.values.dtype.type(other)
    return SparseBatch(batch.entries._replace(values=values), batch.dtype, batch.device)


def _add(batch: Any, other: Any) -> Any:
    if not (isinstance(batch, SparseBatch) and isinstance(other, SparseBatch)):
        return NotImplemented
    return SparseBatch(batch.entries + other.entries, batch.dtype, batch.device)


def _to(batch: Any, target: Any, *options: Any, **named: Any) -> Any:
    if not isinstance(batch, SparseBatch) or isinstance(target, Tensor) or options or named:
        return NotImplemented
    if isinstance(target, torch.dtype):
        return SparseBatch(batch.entries, target, batch.device) if target.is_floating_point else NotImplemented
    return batch if torch.device(target) == batch.device else SparseBatch(batch.entries, batch.dtype, target)


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

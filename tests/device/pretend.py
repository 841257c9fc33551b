"""A device without hardware: real numbers on the host, which may not be mixed with the host's, nor read unnoticed.

Tensors on it are wrappers around tensors on the CPU. An operation with tensors of both places fails, as on a GPU, and
what would make the host wait for the device is counted: values that are read, and sizes that depend on values.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map_only
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

aten = torch.ops.aten
READS = {aten._local_scalar_dense, aten.equal, aten.is_nonzero, aten.nonzero, aten.masked_select, aten.allclose}
READS |= {aten._unique2, aten.unique_dim, aten.unique_consecutive, aten.bincount}
BOTH = {aten.copy_, aten._to_copy, aten.index, aten.index_put_, aten._index_put_impl_}  # take indices of the host


class _Module(_DummyBackendModule):
    get_rng_state = staticmethod(lambda *device: torch.get_rng_state())
    set_rng_state = staticmethod(lambda state, *device: torch.set_rng_state(state))
    get_amp_supported_dtype = staticmethod(lambda: [torch.bfloat16, torch.float16])


_setup_privateuseone_for_python_backend("pretend", _Module())
DEVICE = torch.device("pretend", 0)


class Away(Tensor):
    """A tensor on the device."""

    host: Tensor

    @staticmethod
    def __new__(cls, host: Tensor) -> "Away":
        found = Tensor._make_wrapper_subclass(
            cls, host.shape, host.stride(), host.storage_offset(), dtype=host.dtype, layout=host.layout, device=DEVICE
        )
        found.host = host
        return found

    def __repr__(self) -> str:
        return f"Away({self.host!r})"

    def tolist(self) -> Any:
        if COUNTS is not None:
            COUNTS.append(_where("tolist"))
        return self.host.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Any, kwargs: Any) -> Any:
    flat, _ = tree_flatten((args, kwargs))
    away = [each for each in flat if isinstance(each, Away)]
    wanted = kwargs.get("device")
    there = torch.device(wanted).type == DEVICE.type if wanted is not None else bool(away)
    packet = func.overloadpacket
    if (
        away
        and packet not in BOTH
        and any(isinstance(each, Tensor) and not isinstance(each, Away) and each.dim() for each in flat)
    ):
        raise RuntimeError(f"{func}: expected all tensors to be on the same device, but found cpu and {DEVICE}")
    if COUNTS is not None and away:
        masks = packet in (aten.index, aten.index_put_) and any(
            isinstance(each, Away) and each.dtype == torch.bool for each in args[1]
        )
        copies = (packet is aten._to_copy and not there) or (packet is aten.copy_ and not isinstance(args[0], Away))
        if packet in READS or masks or copies:
            COUNTS.append(_where(func))
    plain_args, plain = tree_map_only(Away, lambda each: each.host, (args, kwargs))
    if wanted is not None:
        plain = {**plain, "device": torch.device("cpu")}
    if packet is aten._to_copy and there and not away:
        plain = {**plain, "non_blocking": False}
    found = torch.zeros(*plain_args, **plain) if packet is aten._efficientzerotensor else func(*plain_args, **plain)
    if not there:
        return found
    found = tree_map_only(Tensor, lambda each: each if isinstance(each, Away) else Away(each), found)
    return return_and_correct_aliasing(func, args, kwargs, found)


def _where(func: Any) -> str:
    """An operation, and the line of the package that asked for it."""
    lines = [f"{frame.filename.split('/reweigh/')[1]}:{frame.lineno}" for frame in traceback.extract_stack()
             if "/reweigh/" in frame.filename]  # fmt: skip
    return f"{func} in {lines[-1] if lines else 'the test'}"


COUNTS: list[str] | None = None


class _Placing(TorchDispatchMode):
    """Makes tensors on the device."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        wanted = kwargs.get("device")
        if wanted is not None and torch.device(wanted).type == DEVICE.type:
            return _run(func, args, kwargs)
        return func(*args, **kwargs)


@contextmanager
def available() -> Iterator[None]:
    """Inside, there is the device; random numbers on it come from the generator of the host."""
    made, tensor = torch.Generator, torch.tensor

    def placed(*args: Any, device: Any = None, **kwargs: Any) -> Tensor:
        return tensor(*args, **kwargs).to(device)  # torch's own asks no one

    class Generator:  # a class, since modules that are imported inside may name it in annotations
        def __new__(cls, device: Any = "cpu") -> Any:
            return made("cpu" if torch.device(device) == DEVICE else device)

    torch.Generator = Generator  # type: ignore[misc]
    torch.tensor = placed
    try:
        with _Placing():
            yield
    finally:
        torch.Generator, torch.tensor = made, tensor  # type: ignore[misc]


@contextmanager
def counted() -> Iterator[list[str]]:
    """What makes the host wait inside."""
    global COUNTS
    COUNTS = []
    try:
        yield COUNTS
    finally:
        COUNTS = None


def home(tensor: Tensor) -> Tensor:
    """The numbers of a tensor, wherever it is."""
    return tensor.detach().host if isinstance(tensor, Away) else tensor.detach()

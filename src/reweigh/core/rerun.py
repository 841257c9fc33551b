"""Run a model again as it was, at other parameters, and leave no trace in it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

from reweigh.core.fully_sharded import gathered, is_fully_sharded, is_in_pieces, overwritten
from reweigh.core.objective import Forward
from reweigh.core.replicated import is_replicated, unhooked

T = TypeVar("T")
Params = dict[str, Tensor]


def unwrapped(model: nn.Module) -> nn.Module:
    """The plain module inside ``torch.compile``, DataParallel and DistributedDataParallel.

    Forward mode and functional calls do not pass through such wrappers, so the core never calls them.
    """
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            inner = model.module
        if not isinstance(inner, nn.Module):
            return model
        model = inner


def is_compiled(model: nn.Module) -> bool:
    """Whether a part of a model is compiled: as a wrapper of its own, or in place."""
    return any(
        "_orig_mod" in module._modules or getattr(module, "_compiled_call_impl", None) is not None
        for module in model.modules()
    )


@dataclass(frozen=True)
class Randomness:
    """The state of the generators that a forward on ``device`` draws from."""

    device: torch.device
    cpu: Tensor
    accelerator: Tensor | None

    @classmethod
    def now(cls, device: torch.device) -> "Randomness":
        """Where the generators stand at this moment."""
        accelerator = None if _is_cpu(device) else torch.get_device_module(device).get_rng_state(*_which(device))
        return cls(device, torch.get_rng_state(), accelerator)

    @classmethod
    def drawn(cls, device: torch.device) -> "Randomness":
        """Generators of their own, seeded by one draw from the global one."""
        seed = int(torch.randint(2**62, ()).numpy())  # drawn on the host: no device is waited for
        accelerator = None if _is_cpu(device) else torch.Generator(device).manual_seed(seed).get_state()
        return cls(device, torch.Generator().manual_seed(seed).get_state(), accelerator)

    def restore(self) -> None:
        """Put the generators where they stood."""
        torch.set_rng_state(self.cpu)
        if self.accelerator is not None:
            torch.get_device_module(self.device).set_rng_state(self.accelerator, *_which(self.device))

    @contextmanager
    def replayed(self) -> Iterator[None]:
        """Inside, the same random numbers come again; afterwards the generators stand where they stood before."""
        before = Randomness.now(self.device)
        self.restore()
        try:
            yield
        finally:
            before.restore()


def _which(device: torch.device) -> tuple[torch.device, ...]:
    """The argument that selects a generator; MPS has a single one."""
    return () if device.type == "mps" else (device,)


def _is_cpu(device: torch.device) -> bool:
    return device.type in ("cpu", "meta")


class Rerun:
    """A forward of ``model`` that can be repeated at other parameters.

    It keeps the buffers as they are when it is made. Each repetition sees copies of them and the same random numbers:
    BatchNorm statistics move once a step, in the real forward, and dropout drops the same units in every pass that
    stands for the same forward. Compiled parts run as they are written: their compiled form has no forward mode, and
    silently computes something else.

    Args:
        compiled: whether ``model`` has compiled parts.
    """

    def __init__(self, model: nn.Module, randomness: Randomness, compiled: bool = False):
        self._model = model
        self._compiled = compiled
        self._sharded, self._replicated = is_fully_sharded(model), is_replicated(model)
        self._buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        self._randomness = randomness

    def __call__(self, function: Callable[[Forward], T], params: Params) -> T:
        """``function`` of the model at ``params``; a parameter that is not named there keeps its present value.

        A backward inside ``function`` sees these parameters too, as activation checkpointing needs, which computes
        a part of the forward again.
        """
        state = {**params, **{name: buffer.clone() for name, buffer in self._buffers.items()}}
        as_written = torch.compiler.set_stance("force_eager") if self._compiled else nullcontext()
        with self._randomness.replayed(), as_written, ExitStack() as stack:
            if self._sharded and is_in_pieces(params):
                stack.enter_context(overwritten(self._model, params))
                state = {name: state[name] for name in self._buffers}
            elif self._sharded or self._replicated:
                stack.enter_context(unhooked(self._model))
                state = gathered(state)
            stack.enter_context(_at(self._model, state))
            return function(self._model)


@contextmanager
def _at(model: nn.Module, state: Params) -> Iterator[None]:
    """Inside, the model has these parameters and buffers, wherever it holds the same tensor under another name.

    ``torch.func.functional_call`` does the same; looking up each name through the modules again takes it longer than
    the forward of a small layer.
    """
    others: dict[int, Tensor] = {}
    before: list[tuple[dict[str, Tensor | None], str, Tensor]] = []
    for path, module in model.named_modules():
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                other = state.get(f"{path}.{name}" if path else name)
                if tensor is not None and (other is not None or id(tensor) in others):
                    others.setdefault(id(tensor), tensor if other is None else other)
                    before.append((tensors, name, tensor))  # pyright: ignore[reportArgumentType]
    try:
        for tensors, name, tensor in before:
            tensors[name] = others[id(tensor)]
        yield
    finally:
        for tensors, name, tensor in before:
            tensors[name] = tensor

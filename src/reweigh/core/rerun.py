"""Run a model again as it was, at other parameters, and leave no trace in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from reweigh.core.fully_sharded import gathered, is_in_pieces, overwritten
from reweigh.core.objective import Forward
from reweigh.core.replicated import unhooked

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

    Attributes:
        params: the model's own parameters, by name.

    Args:
        compiled: whether ``model`` has compiled parts.
        hooked: whether it is under ``fully_shard`` or ``replicate``.
    """

    def __init__(self, model: nn.Module, randomness: Randomness, compiled: bool = False, hooked: bool = False):
        self._model = model
        self._randomness = randomness
        self._compiled, self._hooked = compiled, hooked
        self.params: Params = {}
        self._places: list[tuple[dict[str, Any], str, str]] = []
        buffers: Params = {}
        names: dict[int, str] = {}  # a tensor that the model holds in several places goes by its first name
        for path, module in model.named_modules():  # a single walk: it takes as long as a small layer
            for known, tensors in ((self.params, module._parameters), (buffers, module._buffers)):
                for key, tensor in tensors.items():
                    if tensor is not None:
                        name = names.setdefault(id(tensor), f"{path}.{key}" if path else key)
                        known.setdefault(name, tensor)
                        self._places.append((tensors, key, name))
        self._buffers = {name: buffer.clone() for name, buffer in buffers.items()}

    def __call__(self, function: Callable[[Forward], T], params: Params) -> T:
        """``function`` of the model at ``params``; a parameter that is not named there keeps its present value.

        A backward inside ``function`` sees these parameters too, as activation checkpointing needs, which computes
        a part of the forward again.
        """
        buffers = {name: buffer.clone() for name, buffer in self._buffers.items()}
        as_written = torch.compiler.set_stance("force_eager") if self._compiled else nullcontext()
        state = {**params, **buffers}
        around: Any = nullcontext()
        if self._hooked and is_in_pieces(params):
            around, state = overwritten(self._model, params), buffers
        elif self._hooked:
            around, state = unhooked(self._model), gathered(state)
        with self._randomness.replayed(), as_written, around:
            before = [(tensors, key, tensors[key]) for tensors, key, _ in self._places]
            try:
                for tensors, key, name in self._places:
                    if name in state:
                        tensors[key] = state[name]
                return function(self._model)
            finally:
                for tensors, key, tensor in before:
                    tensors[key] = tensor

"""Run a model again as it was, at other parameters, and leave no trace in it; and which parameters these are."""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.optim import Optimizer

from reweigh.core.objective import Forward
from reweigh.errors import ModelError

T = TypeVar("T")
Params = dict[str, Tensor]


def unwrapped(model: nn.Module) -> nn.Module:
    """The plain module inside ``torch.compile`` (which has no public name for it), and data parallel wrappers.

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
        hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
        for module in model.modules()
    )


Source = tuple[Callable[[], Any], Callable[[Any], Any]]
"""How to read the state of a generator, and how to set it."""


class Randomness:
    """The state of the generators that a forward on ``device`` draws from.

    Args:
        device: Device of the model.
        cpu: State of torch's generator of the CPU.
        accelerator: That of the device, if it is another one.
        others: States of generators outside torch, and of the model's own ones.
    """

    def __init__(
        self, device: torch.device, cpu: Tensor, accelerator: Tensor | None, others: list[tuple[Source, Any]]
    ) -> None:
        self.device, self.cpu = device, cpu
        self._accelerator, self._others = accelerator, others
        self._is_narrow = False

    @classmethod
    def now(cls, device: torch.device, sources: Iterable[Source] = ()) -> "Randomness":
        """Where the generators stand at this moment."""
        accelerator = None if _is_cpu(device) else torch.get_device_module(device).get_rng_state(*_which(device))
        return cls(device, torch.get_rng_state(), accelerator, [(source, source[0]()) for source in sources])

    @classmethod
    def drawn(cls, device: torch.device, sources: Iterable[Source] = ()) -> "Randomness":
        """Generators of torch seeded by one draw from the global one; the others as they are."""
        seed = int(torch.randint(2**62, ()).numpy())  # drawn on the host: no device is waited for
        accelerator = None if _is_cpu(device) else torch.Generator(device).manual_seed(seed).get_state()
        others = [(source, source[0]()) for source in sources]
        return cls(device, torch.Generator().manual_seed(seed).get_state(), accelerator, others)

    def narrow(self) -> None:
        """After the first forward: forget the generators outside torch that it did not draw from."""
        if not self._is_narrow:
            self._others = [(source, state) for source, state in self._others if not _is_equal(state, source[0]())]
            self._is_narrow = True

    def restore(self) -> None:
        torch.set_rng_state(self.cpu)
        if self._accelerator is not None:
            torch.get_device_module(self.device).set_rng_state(self._accelerator, *_which(self.device))
        for (_, put), state in self._others:
            put(state)

    @contextmanager
    def replayed(self) -> Iterator[None]:
        """Inside, the same random numbers come again; afterwards the generators stand where they stood before."""
        before = Randomness.now(self.device, [source for source, _ in self._others])
        self.restore()
        try:
            yield
        finally:
            self.narrow()
            before.restore()


def sources_of_randomness(model: nn.Module) -> list[Source]:
    """Generators that a model may draw from besides torch's own: those of Python and NumPy, and its attributes."""
    kinds = random.Random, np.random.RandomState, np.random.Generator, torch.Generator
    own = {id(part): part for module in model.modules() for part in vars(module).values() if isinstance(part, kinds)}
    found: list[Source] = [(random.getstate, random.setstate)]
    found.append((partial(np.random.get_state, legacy=False), np.random.set_state))
    for part in own.values():
        if isinstance(part, torch.Generator):
            found.append((part.get_state, part.set_state))
        elif isinstance(part, random.Random):
            found.append((part.getstate, part.setstate))
        elif isinstance(part, np.random.Generator):
            bits = part.bit_generator
            found.append((partial(getattr, bits, "state"), partial(setattr, bits, "state")))
        else:
            found.append((partial(part.get_state, legacy=False), part.set_state))
    return found


def _is_equal(state: Any, other: Any) -> bool:
    if isinstance(state, dict):
        return all(_is_equal(part, other[key]) for key, part in state.items())
    if isinstance(state, Tensor):
        return torch.equal(state, other)
    return bool(np.array_equal(state, other)) if isinstance(state, np.ndarray) else state == other


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
        params: The model's own parameters, by name.

    Args:
        model: A plain module.
        randomness: Where the generators stand at the beginning of the forward.
        compiled: Whether ``model`` has compiled parts.
    """

    def __init__(self, model: nn.Module, randomness: Randomness, compiled: bool = False):
        self._within = _Within(model)
        self._randomness = randomness
        self._compiled = compiled
        self.params: Params = dict(model.named_parameters())
        self._buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}

    def __call__(self, function: Callable[[Forward], T], params: Params) -> T:
        """``function`` of the model at ``params``; a parameter that is not named there keeps its present value.

        A backward inside ``function`` sees these parameters too, as activation checkpointing needs, which computes
        a part of the forward again.
        """
        state = {name: buffer.clone() for name, buffer in self._buffers.items()} | params
        as_written = torch.compiler.set_stance("force_eager") if self._compiled else nullcontext()
        with self._randomness.replayed(), as_written:
            return functional_call(self._within, {f"model.{name}": part for name, part in state.items()}, (function,))


class _Within(nn.Module):
    """Calls a function of a model, so that torch can call it at other parameters."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, function: Callable[[Forward], T]) -> T:
        return function(self.model)


def scoped(model: nn.Module, optimizer: Optimizer, scope: str) -> Params:
    """The parameters of ``model`` that the look-ahead moves, by name.

    Only what the optimizer trains counts: frozen parameters never move.

    Args:
        scope: ``"all"``; ``"last-layer"``, the last module that has parameters of its own; ``"last-block"``, the last
            element of the model's last list of blocks and all that follows it; or a pattern over parameter names,
            such as ``"layer4.*"``.

    Raises:
        ModelError: Nothing is left to move.
    """
    trained = {id(param) for group in optimizer.param_groups for param in group["params"]}
    names: Params = {name: p for name, p in model.named_parameters() if p.requires_grad and id(p) in trained}
    if not names:
        raise ModelError(
            "the model has no trainable parameters in the optimizer; set requires_grad or pass the optimizer "
            "model.parameters()"
        )
    if scope == "all":
        return names
    if scope == "last-layer":
        own = {id(p) for p in model.get_submodule(last_layer(model, names)).parameters(recurse=False)}
        return {name: p for name, p in names.items() if id(p) in own}  # a tied one goes by its first name
    if scope == "last-block":
        first = list(names).index(_first_of_last_block(model, names))
        return dict(list(names.items())[first:])
    chosen = {name: p for name, p in names.items() if fnmatchcase(name, scope)}
    if not chosen:
        raise ModelError(
            f"scope {scope!r} matches no trained parameter; use 'all', 'last-layer', 'last-block' or a pattern over "
            f"names such as {next(iter(names))!r} ... {list(names)[-1]!r}"
        )
    return chosen


def last_layer(model: nn.Module, names: Params) -> str:
    """Name of the last module that has one of these parameters as its own: the classifier, as models are written."""
    return next(name for name, module in reversed(list(model.named_modules())) if _own(module, names))


def _own(module: nn.Module, names: Params) -> bool:
    return any(any(p is q for q in names.values()) for p in module.parameters(recurse=False))


def _first_of_last_block(model: nn.Module, names: Params) -> str:
    """The first parameter of the last block: an element, itself made of modules, of a Sequential or ModuleList."""
    block, path = model, ""
    in_list = False
    while not in_list or isinstance(block, nn.Sequential | nn.ModuleList):
        composed = [
            (name, child)
            for name, child in block.named_children()
            if any(True for _ in child.children()) and any(known.startswith(f"{path}{name}.") for known in names)
        ]
        if not composed:
            break
        in_list = isinstance(block, nn.Sequential | nn.ModuleList)
        name, block = composed[-1]
        path += f"{name}."
    if not in_list:
        raise ModelError(
            "the model has no list of blocks, so no last one; use scope='last-layer' or a pattern over names"
        )
    return next(name for name in names if name.startswith(path))

"""A model that several processes compute together: each does its rows of a batch, and all get the whole answer.

Everything around the model is the same in every process: batches, losses, weights, pseudo-labels, the optimizer. So a
method does not mention processes, and whatever it does with a batch (sort it, mix it, sum it) is what one process
would do. Exchanged are the outputs of the model, in one message, and the gradients of its parameters, in another.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from reweigh.core.objective import map_tensors
from reweigh.core.shards.batchwise import Batchwise, recomputed_within
from reweigh.core.shards.exchange import own_rows, rows, shares, spread
from reweigh.errors import ModelError

T = TypeVar("T")


class _Sharded:
    """Mixed into the class of a model; the model stays what it is, with its names, its state and its copies."""

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return split(self, super().forward, *args, **kwargs)  # type: ignore[misc]


def shard(model: nn.Module) -> nn.Module:
    """Let all processes compute the model together, from now on; it is changed in place, and returned.

    Called with a batch, the same in every process, it returns the outputs for all of it, and its parameters get the
    whole gradient. Copies do the same. Every process must call it, and in the same order as others.
    """
    if not is_sharded(model):
        model.__class__ = _sharded(type(model))
    return model


def shard_like(model: nn.Module, other: nn.Module) -> nn.Module:
    """The same if all processes compute the other model together."""
    return shard(model) if is_sharded(other) else model


def whole(model: nn.Module) -> nn.Module:
    """Undo ``shard`` in a model and everything in it."""
    for module in model.modules():
        if is_sharded(module):
            module.__class__ = type(module).__mro__[2]
            module.__dict__.pop("_asked_apart", None)
    return model


def is_sharded(model: nn.Module) -> bool:
    """Whether several processes compute the model together."""
    return isinstance(model, _Sharded)


@cache
def _sharded(kind: type[nn.Module]) -> type[nn.Module]:
    named = {key: getattr(kind, key) for key in ("__module__", "__qualname__", "__doc__")}
    return type(kind.__name__, (_Sharded, kind), named)


_inside = False


def split(model: nn.Module, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """``function`` of a batch, by all processes together if ``model`` is sharded; else simply called.

    Args:
        model: what the function computes with; gradients of its parameters are summed over processes.
        function: its outputs have one row per row of the batch.
        args: tensors have one row per sample; other arguments are passed on.
    """
    processes = distributed.get_world_size() if is_sharded(model) and not _inside else 1
    n = next((len(arg) for arg in args if isinstance(arg, Tensor)), 0)
    if processes == 1 or n < processes:  # so few rows are computed by every process
        with _within():
            return function(*args, **kwargs)
    sizes = shares(n)
    local = sizes[distributed.get_rank()]

    def joined(output: Tensor) -> Tensor:
        if output.dim() == 0 or len(output) != local:
            raise ModelError(
                f"the model returned shape {tuple(output.shape)} for {local} samples; several processes can only train "
                "a model whose outputs have one row per sample"
            )
        return rows(output, n)

    @contextmanager
    def divided() -> Iterator[None]:
        if _inside:  # a part that is recomputed in the backward is not
            yield
        else:
            with _within(), _spread_parameters(model), Batchwise(n, sizes), recomputed_within(divided):
                yield

    mine = [own_rows(arg) if isinstance(arg, Tensor) else arg for arg in args]
    with divided():
        outputs = function(*mine, **kwargs)
    return map_tensors(joined, outputs)


@contextmanager
def _within() -> Iterator[None]:
    """Inside, models are computed as they are: what they get is split already."""
    global _inside
    before, _inside = _inside, True
    try:
        yield
    finally:
        _inside = before


def ask_apart(model: nn.Module, names: Collection[str]) -> None:
    """From now on the gradients of these parameters can be asked for without those of others, which are not sent then.

    Gradients that are summed in one message are computed together, whichever of them is asked for.
    """
    if is_sharded(model):
        model._asked_apart = frozenset(names)  # type: ignore[assignment]


@contextmanager
def _spread_parameters(model: nn.Module) -> Iterator[None]:
    """Inside, the gradients of the model's parameters are summed over processes."""
    apart = getattr(model, "_asked_apart", frozenset[str]())
    owners: dict[int, list[tuple[nn.Module, str]]] = {}
    used: dict[int, Tensor] = {}
    messages: dict[bool, dict[int, Tensor]] = {}
    if torch.is_grad_enabled():
        for path, module in model.named_modules():
            for name, param in module._parameters.items():
                if param is not None and param.requires_grad:
                    owners.setdefault(id(param), []).append((module, name))  # a tied one has several
                    if id(param) not in used:
                        used[id(param)] = param
                        messages.setdefault(f"{path}.{name}".lstrip(".") in apart, {})[id(param)] = param
    try:
        for together in messages.values():
            for key, alias in zip(together, spread(*together.values()), strict=True):
                for module, name in owners[key]:
                    module._parameters[name] = alias  # type: ignore[assignment]
        yield
    finally:
        for key, param in used.items():
            for module, name in owners[key]:
                module._parameters[name] = param  # type: ignore[assignment]

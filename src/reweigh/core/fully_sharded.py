"""A model under ``fully_shard``: each process has a piece of every parameter, to be overwritten but not replaced."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, distributed, nn

from reweigh.errors import ModelError

Params = dict[str, Tensor]


def is_fully_sharded(model: nn.Module) -> bool:
    """Whether ``fully_shard`` was called on a model or a part of it."""
    loaded = sys.modules.get("torch.distributed.fsdp")  # importing it takes a while
    return loaded is not None and any(isinstance(module, loaded.FSDPModule) for module in model.modules())


def sharding_group(model: nn.Module) -> distributed.ProcessGroup:
    """The processes that share a fully sharded model.

    Raises:
        ModelError: some of it is not sharded, sharded in two dimensions, or computed in half precision.
    """
    from torch.distributed.fsdp import FSDPModule
    from torch.distributed.tensor import DTensor

    gather_again(model)
    meshes = {param.device_mesh if isinstance(param, DTensor) else None for param in model.parameters()}
    mesh = meshes.pop()
    if meshes or mesh is None:
        raise ModelError("only a part of the model is under fully_shard; call it on the whole model as well, last")
    if mesh.ndim > 1:
        raise ModelError(
            f"the model is sharded over a mesh of {mesh.ndim} dimensions; sample weights can be learned over one only"
        )
    if any(_computes_in_half(part) for part in model.modules() if isinstance(part, FSDPModule)):
        raise ModelError(
            "fully_shard computes the model in half precision (mp_policy), which rounds away the small differences by "
            "which weights are learned; use torch.autocast instead, from which these are exempt"
        )
    return mesh.get_group()


def _computes_in_half(part: Any) -> bool:
    """Whether the parameters of a part are in half precision once they are gathered, as for a forward."""
    part.unshard()
    found = any(param.dtype in (torch.float16, torch.bfloat16) for param in part.parameters())
    part.reshard()
    return found


def gather_again(model: nn.Module) -> None:
    """Let the next forward gather the parameters as they are by then; torch keeps some gathered after a forward."""
    from torch.distributed.fsdp import FSDPModule

    for part in model.modules():
        if isinstance(part, FSDPModule):
            part.reshard()


@contextmanager
def overwritten(model: nn.Module, state: Params) -> Iterator[None]:
    """Inside, the parameters named in ``state`` have these values."""
    gather_again(model)
    own = {name: param.detach() for name, param in model.named_parameters() if name in state}
    before = {name: param.clone() for name, param in own.items()}
    try:
        _copy(state, own)
        yield
    finally:
        gather_again(model)
        _copy(before, own)


@torch.no_grad()
def _copy(values: Params, to: Params) -> None:
    for name, param in to.items():
        param.copy_(values[name])


def gradients(loss: Tensor, params: Params) -> list[Tensor | None]:
    """The gradient, the mean over processes, by a backward: it is then that processes exchange their parts of it."""
    before = [param.grad for param in params.values()]
    for param in params.values():
        param.grad = None
    loss.backward()
    found = [param.grad for param in params.values()]
    for param, grad in zip(params.values(), before, strict=True):
        param.grad = grad
    return found

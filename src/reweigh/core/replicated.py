"""A model under ``replicate``: torch's ``DistributedDataParallel`` as hooks of the model itself."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import distributed, nn

from reweigh.errors import ModelError


def is_replicated(model: nn.Module) -> bool:
    """Whether ``replicate`` was called on a model or a part of it."""
    return any(_state(module) is not None for module in model.modules())


def replicating_group(model: nn.Module) -> distributed.ProcessGroup:
    """The processes that have replicas of a model.

    Raises:
        ModelError: some of its parameters are not averaged over them.
    """
    state = _state(model)
    if state is not None and state._init_args:
        state.lazy_init()  # as the first forward would
    if state is None or len(state._param_list) < sum(1 for part in model.modules() for _ in part.parameters(False)):
        raise ModelError("only a part of the model is under replicate; call it on the whole model, ignoring nothing")
    return state._ddp.process_group


@contextmanager
def unhooked(model: nn.Module) -> Iterator[None]:
    """Inside, a model under ``replicate`` or ``fully_shard`` is computed by this process alone, as it is written."""
    kind = sys.modules["torch.distributed._composable_state"]._State
    tables: list[dict[int, Any]] = [
        table for part in model.modules() for table in (part._forward_pre_hooks, part._forward_hooks) if table
    ]
    before = [dict(table) for table in tables]
    for table, hooks in zip(tables, before, strict=True):
        for key, hook in hooks.items():
            inner = getattr(hook, "__wrapped__", None)  # where one state has several modules
            if any(isinstance(getattr(each, "__self__", None), kind) for each in (hook, inner)):
                del table[key]
    try:
        yield
    finally:
        for table, hooks in zip(tables, before, strict=True):
            table.clear()
            table.update(hooks)


def _state(module: nn.Module) -> Any:
    """What torch keeps for a module that is replicated; None if it is not."""
    loaded = sys.modules.get("torch.distributed._composable.replicate")  # importing it takes a while
    if loaded is None:
        return None
    kept = module.__dict__.get(sys.modules["torch.distributed._composable.contract"].STATE_KEY, {})  # pyright: ignore
    return next((state for state in kept.values() if isinstance(state, loaded._ReplicateState)), None)

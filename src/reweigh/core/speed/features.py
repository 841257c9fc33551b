"""Keep what a model computed below the scope, so that a repeated forward does not compute it again."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from reweigh.core.rerun import Params, Randomness


class Kept(NamedTuple):
    """What a module returned, and where the random generators stood then."""

    output: Any
    randomness: Randomness


class Features:
    """Outputs of the modules that ran before the first parameter in scope was used.

    Nothing computed before that moment depends on the scope, whatever the model's shape; so a repetition
    that changes only the scope may take these outputs as they are. Where this cannot be made sure of (an output was
    changed in place, a parameter in scope is used without its module being called), nothing is kept.
    """

    def __init__(self, model: nn.Module, scope: Params):
        inside = {id(param) for param in scope.values()}
        self._owners = [m for m in model.modules() if any(id(p) in inside for p in m.parameters(recurse=False))]
        self._below = list(_largest_without(model, {id(owner) for owner in self._owners}))
        self._device = next(model.parameters()).device
        self._kept: dict[nn.Module, list[Kept]] = {}

    @contextmanager
    def record(self) -> Iterator[None]:
        """Keep the outputs of the forward inside."""
        kept: dict[nn.Module, list[Kept]] = {}
        versions: list[tuple[Tensor, int]] = []
        entered: set[int] = set()

        def enter(module: nn.Module, _: Any) -> None:
            entered.add(id(module))

        def keep(module: nn.Module, _: Any, output: Any) -> None:
            if not entered:
                detached = tree_map_only(Tensor, torch.detach, output)
                kept.setdefault(module, []).append(Kept(detached, Randomness.now(self._device)))
                versions.extend((t, t._version) for t in tree_leaves(output) if isinstance(t, Tensor))

        hooks = [owner.register_forward_pre_hook(enter) for owner in self._owners]
        hooks += [module.register_forward_hook(keep) for module in self._below]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
        sound = len(entered) == len(self._owners) and all(t._version == version for t, version in versions)
        self._kept = kept if sound else {}

    @contextmanager
    def replay(self) -> Iterator[None]:
        """Inside, the modules below the scope return what they returned before, instead of computing it."""
        with ExitStack() as stack:
            for module, outputs in self._kept.items():
                stack.enter_context(_returning(module, outputs))
            yield

    def forget(self) -> None:
        """Free the outputs."""
        self._kept = {}


@contextmanager
def _returning(module: nn.Module, outputs: list[Kept]) -> Iterator[None]:
    again = iter(outputs)
    before = module.__dict__.get("forward")
    compute = module.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        kept = next(again, None)
        if kept is None:  # called once more after the scope was used: another forward, or a module used twice
            return compute(*args, **kwargs)
        kept.randomness.restore()  # whatever comes next draws the numbers that it drew before
        return kept.output

    module.__dict__["forward"] = forward
    try:
        yield
    finally:
        del module.__dict__["forward"]
        if before is not None:
            module.__dict__["forward"] = before


def _largest_without(module: nn.Module, owners: set[int]) -> Iterator[nn.Module]:
    """The largest modules inside ``module`` that contain none of ``owners``."""
    for child in module.children():
        if any(id(part) in owners for part in child.modules()):
            if id(child) not in owners:
                yield from _largest_without(child, owners)
        else:
            yield child

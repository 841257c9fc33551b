"""Tricks that make the repeated forwards of a step cheaper. Without this module every result would be the same.

    known features   what a model computes below the scope is not computed again
    layout           convolutions on the CPU run with their channels last in memory
    fused            Adam takes its step in one pass over all parameters

The first two are tried out on the first batch, and not used for a model that gives other losses with them.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from reweigh.core.objective import Forward, Objective, Terms, map_tensors
from reweigh.core.rerun import Params, Randomness
from reweigh.errors import ModelError

FUSED_DEVICES = ("cpu", "cuda", "xpu", "mps")


def can_fuse(params: Iterable[Tensor]) -> bool:
    """Whether torch has a fused kernel of Adam and AdamW for these parameters: ``fused=True`` then.

    On the CPU it takes a quarter of the time of a step tensor by tensor. (That of SGD fails with sparse gradients, and
    with momentum if a parameter has its first gradient later than others.)
    """
    return all(param.is_floating_point() and param.device.type in FUSED_DEVICES for param in params)


class Tricks:
    """Known features and layout, for the model of one learner.

    Args:
        model: A plain module.
        part: Parameters that the look-ahead moves, if these are not all; None if nothing can be known.
    """

    def __init__(self, model: nn.Module, part: Params | None):
        self._features = Features(model, part) if part else None
        self._images = any(param.dim() == 4 and param.device.type == "cpu" for param in model.parameters())
        self._replays = self._rearranges = False
        self._draws = self._mixed = False

    def first(self, objective: Objective) -> Objective:
        """The first forward of a batch; keeps what its repetitions can use."""

        def watched(forward: Forward) -> Terms:
            self._mixed = _is_mixed()
            before = torch.get_rng_state() if self._images else None
            with self._features.record() if self._features else ExitStack():
                terms = objective(forward)
            # random numbers fill a tensor in the order of memory: in another layout, dropout would drop other units
            self._draws = before is not None and not torch.equal(before, torch.get_rng_state())
            return terms

        return watched

    def again(self, objective: Objective) -> Objective:
        """The same forward, at other parameters in scope."""

        def repeated(forward: Forward) -> Terms:
            with ExitStack() as stack:
                if self._features and self._replays and self._mixed == _is_mixed():
                    stack.enter_context(self._features.replay())
                stack.enter_context(self.layout())
                return objective(forward)

        return repeated

    @contextmanager
    def layout(self) -> Iterator[None]:
        """Inside, convolutions run in the layout that the CPU prefers, if that changes nothing else."""
        with ChannelsLast() if self._images and self._rearranges and not self._draws else ExitStack():
            yield

    def try_out(self, is_same: Callable[[], bool]) -> None:
        """Use the tricks with which a repeated forward is the same, each tried by itself."""
        self._replays = self._features is not None and self._tried("_replays", is_same)
        self._rearranges = self._images and self._tried("_rearranges", is_same)

    def _tried(self, trick: str, is_same: Callable[[], bool]) -> bool:
        before = self._replays, self._rearranges
        self._replays = self._rearranges = False
        setattr(self, trick, True)
        try:
            return is_same()
        except (ModelError, RuntimeError):  # such as a view that another layout does not allow
            return False
        finally:
            self._replays, self._rearranges = before

    def forget(self) -> None:
        """Free what was kept."""
        if self._features:
            self._features.forget()


def _is_mixed() -> bool:
    """Whether autocast is on, so that features are in half precision."""
    return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")


class ChannelsLast(TorchFunctionMode):
    """Inside, images on the CPU are convolved with their channels last in memory: the same numbers, faster.

    What a convolution returns keeps that layout, so the images are copied once. A ``view`` that only the usual layout
    allows becomes a copy.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.conv2d and args and _is_batch_on_cpu(args[0]):
            return func(args[0].contiguous(memory_format=torch.channels_last), *args[1:], **kwargs)
        if func is Tensor.view and len(args) > 1 and not isinstance(args[1], torch.dtype) and _is_batch_on_cpu(args[0]):
            return args[0].reshape(*args[1:])
        return func(*args, **kwargs)


def _is_batch_on_cpu(tensor: Tensor) -> bool:
    return tensor.dim() == 4 and tensor.device.type == "cpu"


class Kept(NamedTuple):
    """What a module returned, and where the random generators stood then."""

    output: Any
    randomness: Randomness


class Features:
    """Outputs of the modules that ran before the first parameter in scope was used.

    Nothing computed before that moment depends on the scope, whatever the model's shape; so a repetition that changes
    only the scope may take these outputs as they are. If a parameter in scope is used without its module being called,
    nothing is kept. (An output that the model changes in place afterwards shows when the tricks are tried out.)
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
        entered: set[int] = set()

        def enter(module: nn.Module, _: Any) -> None:
            entered.add(id(module))

        def keep(module: nn.Module, _: Any, output: Any) -> None:
            if not entered:
                detached = map_tensors(torch.detach, output)
                kept.setdefault(module, []).append(Kept(detached, Randomness.now(self._device)))

        hooks = [owner.register_forward_pre_hook(enter) for owner in self._owners]
        hooks += [module.register_forward_hook(keep) for module in self._below]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
        self._kept = kept if len(entered) == len(self._owners) else {}

    @contextmanager
    def replay(self) -> Iterator[None]:
        """Inside, the modules below the scope return what they returned before, instead of computing it."""
        with ExitStack() as stack:
            for module, outputs in self._kept.items():
                stack.enter_context(_returning(module, outputs))
            yield

    def forget(self) -> None:
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

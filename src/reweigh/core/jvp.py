"""Engines: how the coefficients of an objective change along a direction, a Jacobian-vector product."""

import logging
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

from reweigh.core.objective import map_tensors
from reweigh.core.rerun import Params
from reweigh.core.update import norm
from reweigh.errors import LostProcessError, ModelError
from reweigh.names import lookup

logger = logging.getLogger(__name__)
STEP_OF_DIFFERENCE = 0.1  # of networks, measured: their curvature asks for smaller steps than the textbook's 1

Function = Callable[[Params], Tensor]
Engine = Callable[[Function, Params, Params], Tensor]
"""``jvp(f, at, along)``: the derivative of ``f`` at the parameters ``at`` along a direction, of the shape of ``f(at)``.

Parameters without a part of the direction stay where they are.
"""


def forward(f: Function, at: Params, along: Params) -> Tensor:
    """Exact, by one forward-mode pass: the same numbers as ``unrolled``, without a double backward.

    Examples:
        >>> at, along = {"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([1.0, 0.0])}
        >>> forward(lambda params: params["w"] ** 2, at, along)
        tensor([2., 0.])

    Raises:
        ModelError: An operation of the model has no forward mode, or fails in it.
    """
    # gradients are enabled, as they are in training, so that the model does what it does there; but nothing here
    # requires one, so no graph is built. Of the attention kernels only the one in plain arithmetic has a forward mode.
    with torch.enable_grad(), forward_ad.dual_level(), sdpa_kernel(SDPBackend.MATH), StoppedByNoGrad():
        duals = {name: forward_ad.make_dual(at[name].detach(), slope) for name, slope in along.items()}
        try:
            value, slope = forward_ad.unpack_dual(f({**at, **duals}))
        except NotImplementedError as error:
            raise ModelError(
                f"engine 'forward': {_operation(error)} has no forward mode. Use engine='unrolled', which does not "
                "need it, or engine='auto', which switches to it by itself"
            ) from error
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise ModelError(
                f"engine 'forward': an operation of the model fails in forward mode ({error}). Use engine='unrolled', "
                "which does not need it, or engine='auto', which switches to it by itself"
            ) from error
    return torch.zeros_like(value) if slope is None else slope.detach()


class StoppedByNoGrad(TorchFunctionMode):
    """Inside, what is computed under ``torch.no_grad()`` is constant, as for a backward; forward mode ignores that."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if torch.is_grad_enabled():
            return func(*args, **kwargs)
        changed: dict[int, Tensor] = {}  # an operation in place returns its operand, which stays what it is

        def constant(operand: Tensor) -> Tensor:
            value, slope = forward_ad.unpack_dual(operand)
            if slope is None:
                return operand
            changed[id(value)] = operand
            return value

        result = func(*map_tensors(constant, args), **map_tensors(constant, kwargs))
        return changed.get(id(result), result)


def _operation(error: NotImplementedError) -> str:
    """What torch complains about: an operator, named in its message, or an autograd.Function of the user."""
    operator = re.search(r"forward AD with (\w+)", str(error))
    if operator:
        return f"the operation {operator[1]!r}"
    trace = error.__traceback__
    while trace:
        owner = trace.tb_frame.f_locals.get("cls")
        if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
            return f"the autograd.Function {owner.__name__!r} (it defines no jvp)"
        trace = trace.tb_next
    return f"an operation of the model ({error})"


def unrolled(f: Function, at: Params, along: Params) -> Tensor:
    """Exact, by double backward: the reference; slow, and needs much memory.

    The gradient of <v, f> is linear in v, so its product with the direction has the gradient J along by v.

    Examples:
        >>> at, along = {"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([1.0, 0.0])}
        >>> unrolled(lambda params: params["w"] ** 2, at, along)
        tensor([2., 0.])
    """
    leaves = {name: at[name].detach().requires_grad_() for name in along}
    # of the attention kernels only the one in plain arithmetic can be differentiated twice
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
        values = f({**at, **leaves})
        v = torch.zeros_like(values, requires_grad=True)
        grads = torch.autograd.grad(
            values, list(leaves.values()), v, create_graph=True, allow_unused=True, materialize_grads=True
        )
        return torch.autograd.grad(grads, v, list(along.values()), materialize_grads=True)[0]


def difference(f: Function, at: Params, along: Params) -> Tensor:
    """Finite difference: one more forward pass, a small step ahead; works for any model.

        (f(at + h * along) - f(at)) / h

    In single precision it is off by 5e-4 to 7e-3 of its size, as measured on networks; in double precision by 1e-8.
    Under autocast both forwards are computed in the precision of the parameters: half precision would round the
    difference away.

    Examples:
        >>> at, along = {"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([1.0, 0.0])}
        >>> difference(lambda params: params["w"] ** 2, at, along).round(decimals=2)
        tensor([2., 0.])
    """
    moving = {name: at[name].detach() for name in along}
    device = next(iter(moving.values())).device.type
    if torch.is_autocast_enabled(device):
        at = dict(at)  # what is known of f here was computed in half precision
    with torch.no_grad(), torch.autocast(device, enabled=False):
        here = f(at)
        h = _precision(moving) / rounding(moving, along)
        moved = {name: torch.addcmul(param, along[name], h.to(param.dtype)) for name, param in moving.items()}
        return (f({**at, **moved}) - here) / h


def rounding(at: Params, along: Params) -> Tensor:
    """How far off the product is because f of size one is rounded, scalar.

    The step h balances rounding against curvature, relative to the size of the parameters. As a tensor, so that the
    device is not waited for.
    """
    length = norm(list(along.values())).clamp_min(torch.finfo(torch.float32).tiny ** 0.5)
    return _precision(at) ** 0.5 / STEP_OF_DIFFERENCE * length / norm(list(at.values())).clamp_min(1.0)


def _precision(params: Params) -> float:
    """The rounding error of a forward."""
    return max(torch.finfo(param.dtype).eps for param in params.values())


class Auto:
    """``forward``; ``unrolled`` once it turns out that the model has no forward mode; ``difference`` if that fails too.

    Both of the first are exact. ``difference`` cannot follow an ``autograd.Function`` whose backward is not the
    derivative of its forward, such as a straight-through estimator; so it comes last.

    Examples:
        >>> at, along = {"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([1.0, 0.0])}
        >>> Auto()(lambda params: params["w"] ** 2, at, along)
        tensor([2., 0.])

    Args:
        agree: Whether something is true in any process; several processes change their engine together.
    """

    def __init__(self, agree: Callable[[bool], bool] = bool) -> None:
        self._engines = [forward, unrolled, difference]
        self._agree = agree

    @property
    def in_use(self) -> Engine:
        return self._engines[0]

    @property
    def name(self) -> str:
        return self._engines[0].__name__

    def give_up(self, reason: str) -> None:
        self._engines.pop(0)
        logger.warning("switching to engine %r: %s", self.name, reason)

    def __call__(self, f: Function, at: Params, along: Params) -> Tensor:
        while len(self._engines) > 1:
            found, reason = None, f"engine {self.name!r} does not work in another process"
            try:
                found = self._engines[0](f, at, along)
            except (torch.OutOfMemoryError, LostProcessError):
                raise
            except (ModelError, RuntimeError) as error:
                reason = str(error)
            if not self._agree(found is None) and found is not None:
                return found
            self.give_up(reason)
        return self._engines[0](f, at, along)  # it asks nothing of a model: what it raises is the model's own


ENGINES: dict[str, Engine | type[Auto]] = {
    "auto": Auto,
    "forward": forward,
    "difference": difference,
    "unrolled": unrolled,
}


def engine(name: str, agree: Callable[[bool], bool] = bool) -> Engine:
    """The engine of that name in ``ENGINES``, ready for one model; ``agree`` as in ``Auto``."""
    member = lookup(ENGINES, name, "engine")
    return member(agree) if isinstance(member, type) else member

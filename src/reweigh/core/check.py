"""Whether the meta-gradient is exact for a model and its optimizer: looked at in the first step that learns.

What can be compared is compared: a repeated forward with the first one, the engine with a backward, the gradient of
the loss with the one that the optimizer gets, its step with the look-ahead. It costs 6 to 10 plain steps, once.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from reweigh.core.jvp import Auto, Engine, difference, rounding, unrolled
from reweigh.core.objective import Objective, Terms
from reweigh.core.rerun import Params, Rerun
from reweigh.core.update import LookAhead, Update, dense, norm
from reweigh.names import plural

TOLERANCE = 1e-3  # of the size of what is compared, in single precision and better
TOLERANCE_OF_DIFFERENCES = 0.02
MIN_SQUARED_LENGTH = 1e-7  # squared length of a gradient that is mostly rounding, as that of losses near zero
NUM_PROBES = 2
MAX_ROUNDINGS = 10.0  # how many times the rounding error of a number of size one is no sign of an error


class InexactWarning(UserWarning):
    """Weights are learned from a meta-gradient that is not exact; the message says how far off it is, and why."""


def warn(text: str) -> None:
    warnings.warn(f"{text}. Reweighter(check=False) leaves this check out", InexactWarning, stacklevel=6)


def tolerance(coefficients: Tensor) -> float:
    """How far off a repeated computation may be: half precision has few digits, as have very small losses."""
    device = coefficients.device.type
    kinds = [coefficients.dtype] + [torch.get_autocast_dtype(device)] * torch.is_autocast_enabled(device)
    coarse = max(torch.finfo(kind).eps for kind in kinds)
    size = float(norm([coefficients.detach()])) / max(len(coefficients), 1) ** 0.5
    return max(TOLERANCE, coarse**0.5, MAX_ROUNDINGS * coarse / max(size, 1e-30))


def distance(found: list[Tensor], expected: list[Tensor]) -> float:
    """The relative distance of many tensors from many others."""
    difference = [a.detach() - b.detach() for a, b in zip(found, expected, strict=True)]
    return float(norm(difference) / norm([b.detach() for b in expected]).clamp_min(1e-30))


def check_repetition(again: Callable[[], Terms], here: Terms) -> bool:
    """Whether the forward of a batch gives the same losses once more; warns if it does not."""
    with torch.enable_grad():  # as in training; a model may do something else without gradients
        off = distance([again().coefficients], [here.coefficients])
    if off <= tolerance(here.coefficients):
        return True
    warn(
        f"the forward of a batch, repeated as it was, gave other losses (off by {off:.2g} of their size), so the "
        "meta-gradient is as far off. The model changes from call to call: let it draw from the generators of torch, "
        "Python or NumPy, or from one that is an attribute of a module, and keep what it remembers in buffers "
        "(register_buffer)"
    )
    return False


def check_engine(
    engine: Engine, objective: Objective, again: Rerun, state: Params, names: list[str], weights: Tensor
) -> None:
    """Compare the product of an engine with backwards, by which it is known for any two vectors u and w:

        < u, J (J' w) >  =  < J' u, J' w >

    where J is the Jacobian of the coefficients. For random signs u, the mean square of what is off is the square of the
    length of the error. If ``engine`` is ``"auto"``, it gives up forward mode where that fails.

    Args:
        weights: The weights of the batch as they are scaled; w is of their size.
    """
    leaves = {name: state[name].detach().requires_grad_() for name in names}
    with torch.enable_grad():
        terms = again(objective, {**state, **leaves})
    generator = torch.Generator().manual_seed(0)
    w = 2 * torch.rand(len(weights), generator=generator).to(weights) * weights.detach()
    signs = [torch.randint(2, w.shape, generator=generator).to(w) * 2 - 1 for _ in range(NUM_PROBES)]
    back, *backs = (_backward(terms.coefficients, by, leaves) for by in (w, *signs))
    itself, *expected = (_dot(each, back) for each in (back, *backs))
    size = torch.stack(expected).square().mean().sqrt()

    def off(product: Engine) -> float:
        moved = product(lambda at: again(objective, {**state, **at}).coefficients, state, back).detach()
        errors = torch.stack([u.to(moved) @ moved - its for u, its in zip(signs, expected, strict=True)])
        along = (w.to(moved) @ moved - itself) / itself
        return float(torch.maximum(errors.square().mean().sqrt() / size, along.abs()))

    if not MIN_SQUARED_LENGTH < float(itself) < math.inf:  # there is nothing to compare, or it overflows
        return
    error, allowed = off(engine), tolerance(terms.coefficients)
    named = engine.name if isinstance(engine, Auto) else getattr(engine, "__name__", type(engine).__name__)
    if named == difference.__name__:
        allowed = max(allowed, TOLERANCE_OF_DIFFERENCES, float(rounding(leaves, back).detach() * len(w) ** 0.5 / size))
    if error <= allowed:
        return
    why = f"engine {named!r} is off by {error:.2g} of the meta-gradient of this model"
    try:
        exact = named != unrolled.__name__ and off(unrolled) <= allowed
    except RuntimeError:
        exact = False
    if exact and isinstance(engine, Auto):
        while engine.name not in (unrolled.__name__, difference.__name__):
            engine.give_up(why)
    elif exact:
        warn(f"{why}; use engine='unrolled', which is exact here, or engine='auto', which finds that out")
    else:
        warn(
            f"{why}, and there is no better one: its backward is not linear in the weights of samples. A hook on an "
            "activation that clips or scales gradients has this effect, as has an autograd.Function that does"
        )


def _backward(coefficients: Tensor, by: Tensor, leaves: Params) -> Params:
    found = torch.autograd.grad(
        coefficients @ by.to(coefficients.dtype), list(leaves.values()), retain_graph=True, allow_unused=True
    )
    pairs = zip(leaves.items(), found, strict=True)
    return {name: torch.zeros_like(leaf) if grad is None else dense(grad) for (name, leaf), grad in pairs}


def _dot(some: Params, other: Params) -> Tensor:
    return torch.stack([(part * other[name]).sum() for name, part in some.items()]).sum()


@contextmanager
def stepping(model: nn.Module, scope: Params, update: Update, clean: Callable[[], Params]) -> Iterator[None]:
    """Around the step of an optimizer: its gradient should be that of the loss, and its step the look-ahead's.

    Args:
        scope: Parameters that the look-ahead moves.
        clean: Computes their gradient at copies of them, which no hook sees.
    """
    grads = {name: dense(param.grad).clone() for name, param in scope.items() if param.grad is not None}
    outside = unregistered(model, update.optimizer)
    check_gradient(grads, clean(), [each for each in outside if each.grad is not None and bool(each.grad.any())])
    before = {name: scope[name].detach().clone() for name in grads}
    ahead = LookAhead(update, before, grads).params() if update.is_own else None
    yield
    if ahead is not None:
        _check_step(before, {name: scope[name].detach() for name in before}, ahead, type(update.optimizer).__name__)


def unregistered(model: nn.Module, optimizer: Optimizer) -> list[Tensor]:
    """Tensors that the optimizer trains and that are not parameters of the model."""
    own = {id(param) for param in model.parameters()}
    return [param for group in optimizer.param_groups for param in group["params"] if id(param) not in own]


def check_gradient(found: Params, expected: Params, touched: list[Tensor]) -> None:
    """Warn if the optimizer does not get the gradient of the loss.

    Args:
        found: What it gets.
        expected: The gradient at copies of the parameters, which no hook sees.
        touched: Tensors outside the model that the loss depends on.
    """
    if touched:
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in touched[:3]) + (", ..." if len(touched) > 3 else "")
        warn(
            f"the loss depends on {plural(len(touched), 'tensor')} (shape {shapes}) that the optimizer trains but the "
            "model does not register; the look-ahead leaves such tensors where they are, so the meta-gradient lacks "
            "their part. Make them parameters of the model, or of a module around model and loss"
        )
    names = [name for name in expected if name in found]
    off = distance([found[name] for name in names], [expected[name] for name in names])
    if off > tolerance(next(iter(expected.values()))):
        warn(
            f"the optimizer gets another gradient than that of the loss (off by {off:.2g} of its size): a hook changes "
            "it (register_hook, register_post_accumulate_grad_hook), and the look-ahead does not follow hooks. So the "
            "weights are learned for a step that is not taken. Freeze parameters with requires_grad_(False), and scale "
            "their steps by the learning rates of groups instead"
        )


def _check_step(before: Params, after: Params, ahead: Params, name: str) -> None:
    size = float(norm([after[name] - before[name] for name in before]))
    off = float(norm([after[name] - ahead[name] for name in before]))
    rounding = max(torch.finfo(param.dtype).eps for param in before.values()) * float(norm(list(before.values())))
    if off > TOLERANCE * size + rounding:
        warn(
            f"the step that {name} took is not the look-ahead's (off by {off / max(size, 1e-30):.2g} of its size): a "
            "hook changes gradients or parameters (register_step_pre_hook, register_step_post_hook), which the "
            "look-ahead does not follow. So the weights are learned for a step that is not taken. To clip gradients, "
            "own the backward: reweighter.learn and reweighter.weigh"
        )

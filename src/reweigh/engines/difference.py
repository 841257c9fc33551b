"""Meta-gradient by finite differences: no graph and no forward mode, for any model that can be called."""

from collections.abc import Callable

import torch
from torch import Tensor

from reweigh.core.problem import MetaProblem
from reweigh.core.rerun import Params


def difference(problem: MetaProblem) -> Tensor:
    """Nearly exact, by one more forward a small step along the meta gradient; for any model that can be called.

    d meta / d v_i ~ (c_i(params + h * direction) - c_i(params)) / h
    """
    return _along(problem, lambda at, h: (at(h) - _here(problem, at)) / h, power=1 / 2)


def central_difference(problem: MetaProblem) -> Tensor:
    """By two more forwards, one to each side: dearer than ``difference``, with an error of second order.

    d meta / d v_i ~ (c_i(params + h * direction) - c_i(params - h * direction)) / 2h
    """
    return _along(problem, lambda at, h: (at(h) - at(-h)) / (2 * h), power=1 / 3)


def _along(
    problem: MetaProblem, quotient: Callable[[Callable[[float], Tensor], float], Tensor], power: float
) -> Tensor:
    direction = problem.direction()
    params = {name: problem.params[name].detach() for name in direction}
    length = _norm(direction)
    if not length:
        return torch.zeros_like(problem.weights)
    # the step that balances rounding against curvature, relative to the size of the parameters
    device = problem.weights.device.type
    kinds = {param.dtype for param in params.values()}
    if torch.is_autocast_enabled(device):  # a step that is rounded away would tell nothing
        kinds.add(torch.get_autocast_dtype(device))
    precision = max(torch.finfo(kind).eps for kind in kinds)
    h = precision**power * max(_norm(params), 1.0) / length

    def coefficients(step: float) -> Tensor:
        moved = {name: param.add(direction[name], alpha=step) for name, param in params.items()}
        return problem.terms(moved).coefficients

    with torch.no_grad(), problem.layout():
        return quotient(coefficients, h).to(problem.weights.dtype)


def _here(problem: MetaProblem, at: Callable[[float], Tensor]) -> Tensor:
    if problem.coefficients is not None:
        return problem.coefficients
    return at(0.0) if problem.here is None else problem.here.coefficients.detach()


def _norm(params: Params) -> float:
    return float(torch.stack([tensor.norm() for tensor in params.values()]).norm())

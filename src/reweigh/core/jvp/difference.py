"""Jacobian-vector product by a finite difference: no graph and no forward mode."""

from collections.abc import Callable

import torch
from torch import Tensor

from reweigh.core.rerun import Params


def difference(f: Callable[[Params], Tensor], at: Params, along: Params) -> Tensor:
    """Nearly exact, by one more forward a small step ahead; for any model that can be called.

    (f(at + h * along) - f(at)) / h
    """
    moving = {name: at[name].detach() for name in along}
    length = _norm(along)
    with torch.no_grad():
        here = f(at)
        if not length:
            return torch.zeros_like(here)
        # the step that balances rounding against curvature, relative to the size of the parameters
        h = _precision(moving) ** 0.5 * max(_norm(moving), 1.0) / length
        moved = {name: param.add(along[name], alpha=h) for name, param in moving.items()}
        return (f({**at, **moved}) - here) / h


def _precision(params: Params) -> float:
    """The rounding error of a forward: under autocast a smaller step would be rounded away."""
    kinds = {param.dtype for param in params.values()}
    device = next(iter(params.values())).device.type
    if torch.is_autocast_enabled(device):
        kinds.add(torch.get_autocast_dtype(device))
    return max(torch.finfo(kind).eps for kind in kinds)


def _norm(params: Params) -> float:
    return float(torch.stack([tensor.norm() for tensor in params.values()]).norm())

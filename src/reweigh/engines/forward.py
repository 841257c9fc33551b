"""Meta-gradient by forward mode: the exact numbers of ``unrolled`` without a double backward."""

import re

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel

from reweigh.core.problem import MetaProblem
from reweigh.engines.duals import FastDuals
from reweigh.errors import ModelError


def forward(problem: MetaProblem) -> Tensor:
    """Exact, by one forward-mode pass: raise the weight of samples whose gradient agrees with the meta gradient.

        d meta / d v_i = -lr <grad c_i(params), grad meta(lookahead)>          (paper Eq. 10, 15)

    One Jacobian-vector product of the coefficients along the meta gradient gives all inner products.

    Raises:
        ModelError: an operation of the model has no forward mode.
    """
    direction = problem.direction()
    # of the attention kernels only the one in plain arithmetic has a forward mode
    with (
        torch.no_grad(),
        forward_ad.dual_level(),
        sdpa_kernel(SDPBackend.MATH),
        FastDuals(problem.products, problem.rearranged),
        problem.layout(),
    ):
        duals = {
            name: forward_ad.make_dual(param.detach(), direction[name])
            for name, param in problem.params.items()
            if name in direction
        }
        try:
            coefficients = problem.terms(duals).coefficients
        except NotImplementedError as error:
            raise ModelError(
                f"engine 'forward': {_operation(error)} has no forward mode. Use engine='difference', which needs "
                "none, or engine='auto', which turns to it by itself"
            ) from error
        slope = forward_ad.unpack_dual(coefficients).tangent
    return torch.zeros_like(problem.weights) if slope is None else slope.to(problem.weights.dtype)


def _operation(error: NotImplementedError) -> str:
    """What torch complains of: an operator, which its message names, or a function of the user's own."""
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

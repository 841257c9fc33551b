"""Jacobian-vector product by forward mode: exact, without a double backward."""

import re
from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel

from reweigh.core.rerun import Params
from reweigh.errors import ModelError


def forward(f: Callable[[Params], Tensor], at: Params, along: Params) -> Tensor:
    """Exact, by one forward-mode pass: the same numbers as ``unrolled``, without a double backward.

    Examples:
        >>> at, along = {"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([1.0, 0.0])}
        >>> forward(lambda params: params["w"] ** 2, at, along)
        tensor([2., 0.])

    Raises:
        ModelError: an operation of the model has no forward mode.
    """
    # of the attention kernels only the one in plain arithmetic has a forward mode
    with torch.no_grad(), forward_ad.dual_level(), sdpa_kernel(SDPBackend.MATH):
        duals = {name: forward_ad.make_dual(at[name], slope) for name, slope in along.items()}
        try:
            value, slope = forward_ad.unpack_dual(f({**at, **duals}))
        except NotImplementedError as error:
            raise ModelError(
                f"engine 'forward': {_operation(error)} has no forward mode. Use engine='difference', which does not "
                "need it, or engine='auto', which switches to it by itself"
            ) from error
    return torch.zeros_like(value) if slope is None else slope


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

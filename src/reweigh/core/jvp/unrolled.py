"""Jacobian-vector product by double backward: the reference that the other engines are compared with."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from reweigh.core.rerun import Params


def unrolled(f: Callable[[Params], Tensor], at: Params, along: Params) -> Tensor:
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

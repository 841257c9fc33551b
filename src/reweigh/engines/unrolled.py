"""Meta-gradient by double backward through the look-ahead step: the reference that the others are held against."""

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from reweigh.core.problem import MetaProblem
from reweigh.core.update import LookAhead


def unrolled(problem: MetaProblem) -> Tensor:
    """Exact, by double backward through the step: the reference; slow, and hungry for memory.

    d meta / d v  =  d / d v  < grad J(params; v), direction >
    """
    weights = problem.weights.detach().requires_grad_()
    params = {name: param.detach().requires_grad_() for name, param in problem.params.items()}
    # of the attention kernels only the one in plain arithmetic can be differentiated twice
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
        terms = problem.terms(params)
        loss = torch.dot(weights.to(terms.coefficients.dtype), terms.coefficients) + terms.rest
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True, allow_unused=True)
        found = {name: grad for name, grad in zip(params, grads, strict=True) if grad is not None}
        if problem.ahead is None:
            problem.ahead = LookAhead(problem.update, params, found)
        direction = problem.direction()
        return torch.autograd.grad(list(found.values()), weights, [direction[name] for name in found])[0]

"""Meta-gradient by forward mode: the exact numbers of ``unrolled`` without a double backward."""

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel

from reweigh.core.problem import MetaProblem
from reweigh.engines.duals import FastDuals
from reweigh.errors import ModelError


def forward(problem: MetaProblem) -> Tensor:
    """Raise the weight of each sample whose gradient agrees with the meta gradient.

        d meta / d v_i = -lr <grad c_i(params), grad meta(lookahead)>          (paper Eq. 10, 15)

    One Jacobian-vector product of the coefficients along the meta gradient gives all inner products.

    Raises:
        ModelError: an operation of the model has no forward mode.
    """
    direction = problem.direction()
    # of the attention kernels only the one in plain arithmetic has a forward mode
    with torch.no_grad(), forward_ad.dual_level(), sdpa_kernel(SDPBackend.MATH), FastDuals(problem.convolved):
        duals = {
            name: forward_ad.make_dual(param.detach(), direction[name])
            for name, param in problem.params.items()
            if name in direction
        }
        try:
            coefficients = problem.terms(duals).coefficients
        except (NotImplementedError, RuntimeError) as error:
            if not _lacks_forward_mode(error):
                raise
            raise ModelError(
                f"engine 'forward': {_first_sentence(error)}. Use engine='difference', which needs no forward mode, "
                "or engine='auto', which turns to it by itself."
            ) from error
        slope = forward_ad.unpack_dual(coefficients).tangent
    return torch.zeros_like(problem.weights) if slope is None else slope.to(problem.weights.dtype)


def _lacks_forward_mode(error: Exception) -> bool:
    text = str(error).lower()
    return "forward ad" in text or "forward mode ad" in text or "forward-mode" in text or "jvp" in text


def _first_sentence(error: Exception) -> str:
    return str(error).strip().split("\n")[0].split(". ")[0].rstrip(".")

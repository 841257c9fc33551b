"""The length of many tensors as one vector."""

# pyright: reportPrivateImportUsage=false

import torch
from torch import Tensor


def norm(tensors: list[Tensor]) -> Tensor:
    """The Euclidean norm of all entries of tensors on one device, scalar; torch's own first sorts them by device."""
    if not tensors:
        return torch.zeros(())
    found = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(tensors)))
    return found.full_tensor() if hasattr(found, "full_tensor") else found  # of tensors in pieces: over all of these

"""Which optimizers take their step in one pass over all parameters."""

from collections.abc import Iterable

from torch import Tensor

DEVICES = ("cpu", "cuda", "xpu", "mps")


def can_fuse(params: Iterable[Tensor]) -> bool:
    """Whether torch has a fused kernel of Adam and AdamW for these parameters: ``fused=True`` then.

    On the CPU it takes a quarter of the time of a step tensor by tensor. (That of SGD fails with sparse gradients, and
    with momentum if a parameter has its first gradient later than others.)
    """
    return all(param.is_floating_point() and param.device.type in DEVICES for param in params)

"""The exact engine where the model allows it, otherwise the one that works everywhere."""

import logging
from collections.abc import Callable

from torch import Tensor

from reweigh.core.jvp.difference import difference
from reweigh.core.jvp.forward import forward
from reweigh.core.rerun import Params
from reweigh.errors import ModelError

logger = logging.getLogger(__name__)


class Auto:
    """``forward``, or ``difference`` once an operation of the model turns out to lack forward mode.

    Examples:
        >>> import torch
        >>> at, along = {"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([1.0, 0.0])}
        >>> Auto()(lambda params: params["w"] ** 2, at, along)
        tensor([2., 0.])

    Args:
        agree: whether something is true in any process; several processes change their engine together.
    """

    def __init__(self, agree: Callable[[bool], bool] = bool) -> None:
        self._jvp = forward
        self._agree = agree

    def __call__(self, f: Callable[[Params], Tensor], at: Params, along: Params) -> Tensor:
        if self._jvp is difference:
            return difference(f, at, along)
        found, reason = None, "an operation in another process has no forward mode"
        try:
            found = forward(f, at, along)
        except ModelError as error:
            reason = str(error)
        if found is not None and not self._agree(False):
            return found
        if found is None:
            self._agree(True)
        logger.warning("switching to engine 'difference': %s", reason)
        self._jvp = difference
        return difference(f, at, along)

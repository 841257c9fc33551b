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
    """``forward`` until an operation of the model turns out to lack forward mode, from then on ``difference``."""

    def __init__(self) -> None:
        self._jvp = forward

    def __call__(self, f: Callable[[Params], Tensor], at: Params, along: Params) -> Tensor:
        try:
            return self._jvp(f, at, along)
        except ModelError as error:
            if self._jvp is difference:
                raise
            logger.warning("switching to engine 'difference': %s", error)
            self._jvp = difference
            return difference(f, at, along)

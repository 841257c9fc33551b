"""The exact engine where the model allows it, else the one that works everywhere."""

import logging

from torch import Tensor

from reweigh.core.problem import Engine, MetaProblem
from reweigh.engines.difference import difference
from reweigh.engines.forward import forward
from reweigh.errors import ModelError

logger = logging.getLogger(__name__)


class Auto:
    """``forward`` until an operation of the model turns out to lack forward mode, from then on ``difference``."""

    def __init__(self) -> None:
        self.engine: Engine = forward

    def __call__(self, problem: MetaProblem) -> Tensor:
        try:
            return self.engine(problem)
        except ModelError as error:
            if self.engine is difference:
                raise
            logger.warning("turning to engine 'difference': %s", error)
            self.engine = difference
            return difference(problem)

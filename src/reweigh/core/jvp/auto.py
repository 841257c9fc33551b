"""The first engine that a model allows: forward mode, double backward, or a finite difference."""

import logging
from collections.abc import Callable

import torch
from torch import Tensor

from reweigh.core.jvp.difference import difference
from reweigh.core.jvp.forward import forward
from reweigh.core.jvp.unrolled import unrolled
from reweigh.core.rerun import Params
from reweigh.errors import LostProcessError, ModelError

logger = logging.getLogger(__name__)


class Auto:
    """``forward``; ``unrolled`` once it turns out that the model has no forward mode; ``difference`` if that fails too.

    Both of the first are exact. ``difference`` cannot follow an ``autograd.Function`` whose backward is not the
    derivative of its forward, such as a straight-through estimator; so it comes last.

    Examples:
        >>> import torch
        >>> at, along = {"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([1.0, 0.0])}
        >>> Auto()(lambda params: params["w"] ** 2, at, along)
        tensor([2., 0.])

    Args:
        agree: Whether something is true in any process; several processes change their engine together.
    """

    def __init__(self, agree: Callable[[bool], bool] = bool) -> None:
        self._engines = [forward, unrolled, difference]
        self._agree = agree

    @property
    def in_use(self) -> Callable[[Callable[[Params], Tensor], Params, Params], Tensor]:
        """The engine that is in use."""
        return self._engines[0]

    @property
    def name(self) -> str:
        """Its name."""
        return self._engines[0].__name__

    def give_up(self, reason: str) -> None:
        """Use the next engine from now on."""
        self._engines.pop(0)
        logger.warning("switching to engine %r: %s", self.name, reason)

    def __call__(self, f: Callable[[Params], Tensor], at: Params, along: Params) -> Tensor:
        while len(self._engines) > 1:
            found, reason = None, f"engine {self.name!r} does not work in another process"
            try:
                found = self._engines[0](f, at, along)
            except (torch.OutOfMemoryError, LostProcessError):
                raise
            except (ModelError, RuntimeError) as error:
                reason = str(error)
            if not self._agree(found is None) and found is not None:
                return found
            self.give_up(reason)
        return self._engines[0](f, at, along)  # it asks nothing of a model: what it raises is the model's own

"""When weights begin to differ, and when a loop that owns its backward learns them."""

from math import log
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from reweigh.core.normalize import Average

LEFT_CHANCE = 0.75  # of log C; on digits a function transferred at 0.9 ruins training, one at 0.75 or 0.5 helps
MAX_EPOCHS = 5.0  # noisy labels may keep losses above that for long
LOSS_MEMORY = 0.9  # of the running mean, per batch


class WarmUp:
    """The beginning of training, in which every weight is one.

    Examples:
        >>> import torch
        >>> warm_up = WarmUp(epochs=2, samples=100, num_classes=10)
        >>> for _ in range(5):
        ...     warm_up.see(torch.rand(40))
        >>> warm_up.is_on
        False

    Args:
        epochs: Passes over the training set, counted by samples; None: until the running mean of losses is below three
            quarters of log C, that of a model that knows nothing, and at most five epochs.
        samples: Size of the training set.
        num_classes: Paper: C.
    """

    def __init__(self, epochs: float | None, samples: float, num_classes: int):
        self._left = (MAX_EPOCHS if epochs is None else epochs) * samples
        self._limit = LEFT_CHANCE * log(max(num_classes, 2)) if epochs is None else None
        self._mean: float | None = None

    @property
    def is_on(self) -> bool:
        """Whether weights are still one."""
        return self._left > 0

    @property
    def is_automatic(self) -> bool:
        """Whether the losses say when it is over."""
        return self._limit is not None

    def see(self, losses: Tensor, average: Average = lambda mean: mean) -> None:
        """Note the losses of a batch, shape (n,); ``average`` averages a number over processes."""
        self._left -= len(losses)
        if self._limit is not None:
            now = float(average(losses.detach().double().mean()))
            self._mean = now if self._mean is None else LOSS_MEMORY * self._mean + (1 - LOSS_MEMORY) * now
            if self._mean < self._limit:
                self.end()

    def end(self) -> None:
        """Let weights differ from now on."""
        self._left = 0.0

    def state_dict(self) -> dict[str, Any]:
        return {"left": self._left, "mean": self._mean}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._left, self._mean = state["left"], state["mean"]


class Pace:
    """Counts the steps of an optimizer since the weights were last learned apart from it, by ``Reweighter.learn``.

    Gradients may be accumulated over many batches before one step, and a gradient scaler may leave a step out.

    Attributes:
        since: Steps since then; None if that never happened.
    """

    def __init__(self, optimizer: Optimizer):
        self.since: int | None = None
        if hasattr(optimizer, "register_step_post_hook"):
            optimizer.register_step_post_hook(self._count)

    def _count(self, *_: Any) -> None:
        self.since = None if self.since is None else self.since + 1

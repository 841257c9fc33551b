"""What the training loop asks of a method, be it plain training, CMW-Net or a rival."""

from typing import Any, Protocol

from torch import Tensor, nn

from reweigh.core.batch import Batch


class Method(Protocol):
    """One way to train a classifier. The loop owns epochs, batches and schedules; a method owns the step."""

    @property
    def model(self) -> nn.Module:
        """The classifier to judge and to save; called with a batch of inputs it returns logits."""
        ...

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        """Called before the first step of an epoch: choose the meta set, refresh the families.

        Args:
            warm_up: the epoch is trained plainly, without reweighting.
        """
        ...

    def step(self, batch: Batch) -> dict[str, float]:
        """Train on a batch and return numbers to log; always ``loss``, and ``weight`` (the mean) if it weighs."""
        ...

    def sample_weights(self) -> Tensor | None:
        """The latest weight of each training sample, shape (N,), NaN where it was never seen; None if it has none."""
        ...

    def weighting(self) -> nn.Module | None:
        """The weight net, as learned so far or as given: (losses, family) -> weights; None if it has none."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs: tensors, numbers, strings, None, and dicts and lists of these."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue as if never interrupted."""
        ...

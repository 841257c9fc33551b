"""A batch of training samples, each with its index in the training set."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Batch:
    """What one step of training sees.

    Attributes:
        inputs: Shape (n, ...), on the model's device, ready for the model.
        labels: Shape (n,) integers, or (n, num_classes) rows that sum to one.
        index: Shape (n,), the index of each sample in the training set, on the CPU; weights and pseudo-labels are keyed
            by it.
        weights: Shape (n,), the user's weight of each sample; None weighs all the same.
    """

    inputs: Tensor
    labels: Tensor
    index: Tensor
    weights: Tensor | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def where(self, kept: Tensor) -> "Batch":
        """The samples for which ``kept``, shape (n,), is true."""
        weights = None if self.weights is None else self.weights[kept]
        return Batch(self.inputs[kept], self.labels[kept], self.index[kept], weights)

    @property
    def scale(self) -> Tensor | float:
        """How much each sample counts, shape (n,), or 1."""
        return 1.0 if self.weights is None else self.weights

    def weighted(self, losses: Tensor) -> Tensor:
        """Losses of the samples, shape (n,), times how much each counts."""
        return losses if self.weights is None else self.weights * losses

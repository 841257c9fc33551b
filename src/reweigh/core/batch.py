"""A batch of training samples, each with its place in the training set."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Batch:
    """What one step of training sees.

    Attributes:
        inputs: shape (n, ...), on the model's device, ready for the model.
        labels: shape (n,) integers, or (n, num_classes) rows that sum to one.
        index: shape (n,), the place of each sample in the training set; weights and pseudo-labels are keyed by it.
    """

    inputs: Tensor
    labels: Tensor
    index: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def where(self, kept: Tensor) -> "Batch":
        """The samples for which ``kept``, shape (n,), is true."""
        return Batch(self.inputs[kept], self.labels[kept], self.index[kept])

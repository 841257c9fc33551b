"""The learned weighting function as users call and see it: arrays in, arrays out, and a figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from reweigh.families import Families
from reweigh.names import listed
from reweigh.weighting import num_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVE_POINTS = 200


class Weighting:
    """How much a sample counts, by its loss and the family of its class.

        weights = weighting([0.1, 2.0, 5.0], family=1)

    Args:
        families: Families of the classes it was used on; a net from elsewhere may have more curves, matched by rank.
        reads: What it reads of a sample besides the family of its class: "loss" as in the paper, or "doubt".

    Attributes:
        family_of_class: Shape (num_classes,); family 0 holds the rarest classes.
        centers: Shape (num_families,), the mean class size of each family.
    """

    def __init__(self, net: nn.Module, families: Families, reads: str = "loss") -> None:
        self.net = net
        self.reads = reads
        self.families = families
        self._curve = families.curves(num_curves(net, families.num_families))

    @property
    def num_families(self) -> int:
        return self.families.num_families

    @property
    def family_of_class(self) -> np.ndarray:
        return self.families.of_class.numpy()

    @property
    def centers(self) -> np.ndarray:
        return self.families.centers.numpy()

    @property
    def curve_of_class(self) -> torch.Tensor:
        """The curve of the net that each class uses, shape (num_classes,)."""
        return self._curve[self.families.of_class]

    def __call__(self, losses: Any, family: Any = 0) -> np.ndarray:
        """Weights in (0, 1), of the shape of ``losses``.

        Args:
            losses: Cross-entropies of samples with their given labels, numbers of any shape.
            family: The family of each sample, or one for all.
        """
        losses, family = np.broadcast_arrays(np.asarray(losses, dtype=np.float32), np.asarray(family))
        curve = self._curve[torch.tensor(family.ravel(), dtype=torch.int64)]
        with torch.no_grad():
            return self.net(torch.tensor(losses.ravel()), curve).numpy().reshape(losses.shape)

    def __repr__(self) -> str:
        return f"Weighting({self.num_families} families of classes, of mean size {np.round(self.centers, 1).tolist()})"

    def plot(self, max_loss: float, classes: Sequence[Any], ax: "Axes | None" = None) -> "Axes":
        """Draw weight against loss, one curve per family."""
        from matplotlib import pyplot

        if ax is None:
            _, ax = pyplot.subplots()
        losses = np.linspace(0, max_loss, CURVE_POINTS)
        for family in range(self.num_families):
            names = [str(name) for name, own in zip(classes, self.family_of_class, strict=True) if own == family]
            ax.plot(losses, self(losses, family), label=f"{listed(names, 4)} (mean size {self.centers[family]:.4g})")
        ax.set(xlabel="loss of a sample with its given label", ylabel="weight", xlim=(0, max_loss), ylim=(0, 1))
        ax.legend(title="classes")
        return ax

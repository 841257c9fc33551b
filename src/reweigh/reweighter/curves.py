"""Which curve of the weighting function each sample gets, by the family of its class."""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from reweigh.core.scope import last_layer
from reweigh.errors import DataError
from reweigh.families import FAMILIES, Families, FamilyRule, sizes_differ
from reweigh.names import lookup
from reweigh.weighting import made, num_curves

PAPER_FAMILIES = 3  # paper: K
LARGE = 5.0  # a loss that a new weighting function still gives about as much weight as a small one


class Curves:
    """The weighting function and the families of classes that share its curves.

    Attributes:
        weight_net: The weighting function.

    Args:
        sizes: Shape (num_classes,), samples of each class.
        loss_unit: What a new weighting function divides losses by.
        families, family_rule, spare_curves, weight_net, hidden, weighting: See ``Reweighter``.
    """

    def __init__(
        self,
        sizes: Tensor,
        device: torch.device,
        *,
        families: int | Families | None,
        family_rule: str | FamilyRule,
        spare_curves: bool,
        weight_net: str | nn.Module,
        hidden: int,
        loss_unit: float,
        weighting: nn.Module | None,
    ):
        self._num_classes, self._device = len(sizes), device
        self._rule = lookup(FAMILIES, family_rule, "family rule") if isinstance(family_rule, str) else family_rule
        if families is None:
            families = PAPER_FAMILIES if sizes_differ(sizes) else 1
        wanted = families.num_families if isinstance(families, Families) else families
        if isinstance(weight_net, nn.Module):
            wanted = min(wanted, num_curves(weight_net, wanted))
        found = families if isinstance(families, Families) else self._rule(sizes, wanted)
        net = deepcopy(weighting).requires_grad_(False) if weighting is not None else weight_net
        if isinstance(net, str):
            many = wanted if spare_curves else found.num_families
            net = made(net, many, hidden, loss_unit)
            wanted = num_curves(net, wanted)
        self.weight_net: nn.Module = net.to(device)
        self._wanted = wanted
        self.families = found

    @property
    def families(self) -> Families:
        """Which classes share a curve; family 0 holds the rarest."""
        return self._families

    @families.setter
    def families(self, families: Families) -> None:
        if len(families.of_class) != self._num_classes:
            raise DataError(
                f"families: of_class has {len(families.of_class)} entries for {self._num_classes} classes; it should "
                "have one per class (pass num_classes=... if some classes have no sample)"
            )
        self._families = families
        curves = families.curves(num_curves(self.weight_net, families.num_families))
        self._curve_of_class = curves[families.of_class].to(self._device)

    def refresh(self, sizes: Tensor) -> None:
        """Recompute the families for other class sizes."""
        self.families = self._rule(sizes, self._wanted)

    def __call__(self, labels: Tensor, what: str = "labels") -> Tensor:
        """The curve of each label's class, shape (n,); labels may be rows, shape (n, num_classes).

        Raises:
            DataError: A label is not a class. Not on a device that would have to be waited for.
        """
        try:
            return self._curve_of_class.index_select(0, labels.argmax(1) if labels.dim() == 2 else labels)
        except IndexError:
            raise DataError(
                f"{what}: from {int(labels.min())} to {int(labels.max())}, but the labels of the training set have "
                f"{self._num_classes} classes (0 to {self._num_classes - 1}); pass num_classes=... if there are more"
            ) from None


def unit_of_losses(model: nn.Module) -> float:
    """A fifth of the ``scale`` of a last layer that multiplies its logits by it, as cosine heads do; otherwise 1.

    Losses of such logits go up to about the scale, and a new weighting function is made for losses up to about 5.
    """
    named: dict[str, Tensor] = dict(model.named_parameters())
    scale: Any = getattr(model.get_submodule(last_layer(model, named)) if named else model, "scale", 1.0)
    if isinstance(scale, nn.Parameter) or (isinstance(scale, Tensor) and scale.numel() != 1):
        return 1.0
    return max(1.0, float(scale) / LARGE) if isinstance(scale, int | float | Tensor) else 1.0

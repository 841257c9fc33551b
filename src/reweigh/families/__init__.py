"""Families: classes that share one weighting curve."""

from collections.abc import Callable

from torch import Tensor

from reweigh.families.families import Families, by_size, sizes_differ

FamilyRule = Callable[[Tensor, int], Families]
"""(number of samples of each class, most families wanted) -> families, the rarest first."""

FAMILIES: dict[str, FamilyRule] = {"by-size": by_size}

__all__ = ["FAMILIES", "Families", "FamilyRule", "by_size", "sizes_differ"]

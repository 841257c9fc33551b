"""Families: classes that share one weighting curve, found from their sizes."""

from reweigh.families.by_size import Families, by_size

__all__ = ["Families", "by_size"]

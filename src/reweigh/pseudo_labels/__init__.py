"""Pseudo-labels: what stands in for labels that are doubted."""

from reweigh.pseudo_labels.mixup import Mix, draw

__all__ = ["Mix", "draw"]

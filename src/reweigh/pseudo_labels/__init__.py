"""Pseudo-labels: what stands in for labels that are doubted."""

from reweigh.pseudo_labels.averaged import AveragedModel
from reweigh.pseudo_labels.mixup import Mix, draw

__all__ = ["AveragedModel", "Mix", "draw"]

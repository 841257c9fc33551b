"""Pseudo-labels: replacements for labels that are in doubt."""

from reweigh.pseudo_labels.averaged import AveragedModel, predicted_in_training
from reweigh.pseudo_labels.mixup import Mix, draw
from reweigh.pseudo_labels.predictions import Predictions, predictions

__all__ = ["AveragedModel", "Mix", "Predictions", "draw", "predicted_in_training", "predictions"]

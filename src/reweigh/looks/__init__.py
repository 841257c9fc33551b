"""Looks: classifiers trained on what is thought of the labels, with predictions for samples that they did not see."""

from reweigh.looks.look import Look
from reweigh.looks.network import Networks

__all__ = ["Look", "Networks"]

"""Looks: classifiers trained on what is thought of the labels, with predictions for samples that they did not see."""

from reweigh.looks.look import Look
from reweigh.looks.network import Networks
from reweigh.looks.pool import pooled, share_of
from reweigh.looks.trees import BoostedTrees

__all__ = ["BoostedTrees", "Look", "Networks", "pooled", "share_of"]

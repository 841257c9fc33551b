"""Looks: classifiers trained on what is thought of the labels, with predictions for samples that they did not see."""

from reweigh.looks.classifiers import Classifiers, OwnClassifier, check_classifier
from reweigh.looks.linear import LogisticRegressions
from reweigh.looks.look import Look
from reweigh.looks.network import Networks
from reweigh.looks.pool import pooled, shares_of
from reweigh.looks.trees import BoostedTrees

__all__ = [
    "BoostedTrees",
    "Classifiers",
    "LogisticRegressions",
    "Look",
    "Networks",
    "OwnClassifier",
    "check_classifier",
    "pooled",
    "shares_of",
]

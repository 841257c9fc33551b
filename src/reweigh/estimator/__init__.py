"""The scikit-learn face: ``RobustClassifier`` for tables, sparse matrices and images."""

from reweigh.estimator.classifier import RobustClassifier

__all__ = ["RobustClassifier"]

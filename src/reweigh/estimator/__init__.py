"""The scikit-learn face: ``RobustClassifier`` for tables, sparse matrices and images."""

from reweigh.estimator.classifier import RobustClassifier, weights_for

__all__ = ["RobustClassifier", "weights_for"]

"""Figures of what training believed: each takes arrays and gives a matplotlib figure, to be restyled at will.

In a notebook, ``plot_weighting(net, figure=pyplot.figure())`` draws into a figure that is shown at the end of the cell.
"""

from reweigh.report.figures.classes import plot_accuracy_by_size, plot_class_accuracy
from reweigh.report.figures.history import plot_history
from reweigh.report.figures.losses import plot_losses
from reweigh.report.figures.matrix import plot_matrix
from reweigh.report.figures.risk_coverage import plot_risk_coverage
from reweigh.report.figures.weighting import curves, plot_weighting
from reweigh.report.figures.weights import plot_weights

__all__ = [
    "curves",
    "plot_accuracy_by_size",
    "plot_class_accuracy",
    "plot_history",
    "plot_losses",
    "plot_matrix",
    "plot_risk_coverage",
    "plot_weighting",
    "plot_weights",
]

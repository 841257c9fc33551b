"""Figures of what was learned: each function takes arrays and returns a matplotlib figure that can be restyled.

In a notebook, ``plot_weighting(net, figure=pyplot.figure())`` draws into a figure that the cell shows.
"""

from reweigh.report.figures.classes import plot_accuracy_by_size, plot_class_accuracy, plot_matrix
from reweigh.report.figures.history import plot_history, plot_risk_coverage
from reweigh.report.figures.map import plot_points
from reweigh.report.figures.weights import curves, plot_losses, plot_weighting, plot_weightings, plot_weights

__all__ = [
    "curves",
    "plot_accuracy_by_size",
    "plot_class_accuracy",
    "plot_history",
    "plot_losses",
    "plot_matrix",
    "plot_points",
    "plot_risk_coverage",
    "plot_weighting",
    "plot_weightings",
    "plot_weights",
]

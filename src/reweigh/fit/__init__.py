"""The one middle: (Dataset, Plan) -> Fit, what a fit knows of each sample, and how it is stored."""

from reweigh.fit.fitting import Fit, fit

__all__ = ["Fit", "fit"]

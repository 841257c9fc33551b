"""Weighting: from a sample's loss and the family of its class to a weight."""

from collections.abc import Callable

from reweigh.weighting.nets import ClassAwareNet, FreeWeights, LearnedWeights, WeightNet, num_curves, weigher
from reweigh.weighting.saved import (
    Origin,
    construction,
    load_weighting,
    made,
    named_release,
    read_released,
    rebuilt,
    save_weighting,
)

WEIGHTINGS: dict[str, Callable[[int, int], WeightNet]] = {"class-aware": ClassAwareNet, "free": FreeWeights}

__all__ = [
    "WEIGHTINGS",
    "ClassAwareNet",
    "FreeWeights",
    "LearnedWeights",
    "Origin",
    "WeightNet",
    "construction",
    "load_weighting",
    "made",
    "named_release",
    "num_curves",
    "read_released",
    "rebuilt",
    "save_weighting",
    "weigher",
]

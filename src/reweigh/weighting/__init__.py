"""Weighting: from a sample's loss and the family of its class to a weight."""

from reweigh.weighting.class_aware import ClassAwareNet
from reweigh.weighting.free import FreeWeights
from reweigh.weighting.frozen import FrozenWeights, curve_of_family
from reweigh.weighting.learned import LearnedWeights
from reweigh.weighting.released import read_released
from reweigh.weighting.saved import Origin, load_weighting, save_weighting

__all__ = [
    "ClassAwareNet",
    "FreeWeights",
    "FrozenWeights",
    "LearnedWeights",
    "Origin",
    "curve_of_family",
    "load_weighting",
    "read_released",
    "save_weighting",
]

"""Biases for experiments: seeded, pure functions that make labels worse and report exactly what they changed."""

from collections.abc import Callable

from reweigh.bias.asymmetric import asymmetric
from reweigh.bias.biased import Biased, apply, summarize
from reweigh.bias.candidates import independent, pairs
from reweigh.bias.feature_dependent import feature_dependent, feature_dependent_rival
from reweigh.bias.long_tail import long_tail
from reweigh.bias.symmetric import open_set, symmetric, symmetric_others
from reweigh.core.candidates import CandidateSets

BIASES: dict[str, Callable[..., Biased]] = {
    "asymmetric": asymmetric,
    "feature-dependent": feature_dependent,
    "feature-dependent-rival": feature_dependent_rival,
    "long-tail": long_tail,
    "open-set": open_set,
    "symmetric": symmetric,
    "symmetric-others": symmetric_others,
}

# labels, num_classes, seed, *, q -> sets of labels, so they have their own table
CANDIDATES: dict[str, Callable[..., CandidateSets]] = {"independent": independent, "pairs": pairs}

__all__ = ["BIASES", "CANDIDATES", "Biased", "apply", "summarize"]

"""Biases for experiments: seeded, pure functions that make labels worse and report exactly what they changed."""

from collections.abc import Callable

from torch import Tensor

from reweigh.bias import asymmetric, candidates, feature_dependent, long_tail, open_set, symmetric
from reweigh.bias.biased import Biased, summarize
from reweigh.bias.mixture import apply

BIASES: dict[str, Callable[..., Biased]] = {
    "asymmetric": asymmetric.asymmetric,
    "feature-dependent": feature_dependent.feature_dependent,
    "feature-dependent-rival": feature_dependent.feature_dependent_rival,
    "long-tail": long_tail.long_tail,
    "open-set": open_set.open_set,
    "symmetric": symmetric.symmetric,
    "symmetric-others": symmetric.symmetric_others,
}

# labels, num_classes, seed, *, q -> (N, C) bool: sets of labels, so they have their own table
CANDIDATES: dict[str, Callable[..., Tensor]] = {
    "independent": candidates.independent,
    "pairs": candidates.pairs,
}

__all__ = ["BIASES", "CANDIDATES", "Biased", "apply", "summarize"]

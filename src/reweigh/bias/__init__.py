"""Make labels worse on purpose, with the true noise known; each bias is pure and seeded."""

from collections.abc import Callable

from torch import Tensor

from reweigh.bias import candidates
from reweigh.bias.asymmetric import asymmetric
from reweigh.bias.biased import Biased
from reweigh.bias.feature_dependent import feature_dependent, feature_dependent_rival
from reweigh.bias.long_tail import long_tail
from reweigh.bias.mixture import apply
from reweigh.bias.open_set import open_set
from reweigh.bias.summary import summarize
from reweigh.bias.symmetric import symmetric, symmetric_others

BIASES: dict[str, Callable[..., Biased]] = {
    "asymmetric": asymmetric,
    "feature-dependent": feature_dependent,
    "feature-dependent-rival": feature_dependent_rival,
    "long-tail": long_tail,
    "open-set": open_set,
    "symmetric": symmetric,
    "symmetric-others": symmetric_others,
}

# labels, num_classes, seed, *, q -> (N, C) bool: not labels but sets of them, so a table of their own
CANDIDATES: dict[str, Callable[..., Tensor]] = {
    "independent": candidates.independent,
    "pairs": candidates.pairs,
}

__all__ = ["BIASES", "CANDIDATES", "Biased", "apply", "summarize"]

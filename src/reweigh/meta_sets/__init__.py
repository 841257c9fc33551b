"""Meta sets: which samples of the training set to trust."""

from reweigh.meta_sets.balanced_random import BalancedRandom
from reweigh.meta_sets.chosen import Clean, Given, Labeled
from reweigh.meta_sets.lowest_loss import LowestLoss
from reweigh.meta_sets.meta_set import MetaSet

__all__ = ["META_SETS", "LowestLoss", "MetaSet"]

META_SETS: dict[str, type[MetaSet]] = {
    "lowest-loss": LowestLoss,
    "balanced-random": BalancedRandom,
    "clean": Clean,
    "given": Given,
    "labeled": Labeled,
}

"""Which samples are not trained on, because they set when to abstain or judge the epochs."""

import logging

import torch
from torch import Tensor

from reweigh.bias.biased import stream
from reweigh.data import Dataset
from reweigh.data.splits import stratified, stratified_folds
from reweigh.errors import DataError
from reweigh.names import listed
from reweigh.plan import Plan
from reweigh.training.randomness import seeded

logger = logging.getLogger(__name__)
ABSTAIN = 1002  # streams of the seed
JUDGE = 1003
FEWEST = 3  # samples of a class that is held out


def set_apart(train_set: Dataset, share: float | None, seed: int) -> tuple[Tensor, Tensor]:
    """Indices of the samples to train on, and of a share of each class that is held out to set when to abstain."""
    everything = torch.arange(len(train_set))
    if share is None:
        return everything, everything[:0]
    size = round(share * len(train_set))
    if not 0 < size < len(train_set):
        raise DataError(
            f"abstain: {share:g} of {len(train_set)} samples is {size}; both parts need at least one sample"
        )
    apart = stratified(train_set.labels, size, stream(seed, ABSTAIN), "abstain", train_set.groups)
    kept = everything[~torch.isin(everything, apart)]
    left = train_set.subset(kept).class_sizes
    lost = ((left == 0) & (train_set.class_sizes > 0)).nonzero().flatten().tolist()
    if lost:
        names = listed(train_set.class_names[label] for label in lost)
        raise DataError(f"abstain: {share:g} leaves no sample of class {names} to train on; hold out fewer")
    logger.info("abstain: %d of %d samples are not trained on", len(apart), len(train_set))
    return kept, apart


def judges(train_set: Dataset, share: float, seed: int) -> Tensor:
    """Indices of a share of each class that judges the epochs; classes of fewer than three samples are not held out."""
    fold = stratified_folds(train_set.labels, max(2, round(1 / share)), FEWEST, seeded(seed, JUDGE), train_set.groups)
    found = (fold == 0).nonzero().flatten()
    if len(found) == 0:
        raise DataError(
            f"judge: no class has {FEWEST} samples with a label in two or more groups, so none can be held out; train "
            "without a judge"
        )
    if lacking := len(set(train_set.labels[train_set.labeled].tolist()) - set(train_set.labels[found].tolist())):
        logger.info("judge: %d classes have too few samples to judge by", lacking)
    logger.info("judge: %d of %d samples are not trained on", len(found), len(train_set))
    return found


def is_held_out(plan: Plan, test_set: Dataset | None) -> bool:
    """Whether the test set is a part of the user's own data, and not data of its own."""
    if plan.data is None or test_set is None:
        return False
    return plan.source.name == "files" and plan.source.options["test"] is None and test_set.origin is not None

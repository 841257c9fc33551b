"""Samples that are not trained on: how sure the network is of them says when to abstain."""

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.data import Dataset, Inputs
from reweigh.data.subsets import set_apart
from reweigh.errors import DataError
from reweigh.estimator.fitted import Fitted, dataset
from reweigh.estimator.scoring import probabilities
from reweigh.estimator.targets import Targets
from reweigh.estimator.trainer import at_once
from reweigh.label_issues import likeliest_candidates
from reweigh.pseudo_labels import predictions
from reweigh.recipes.scored import scored
from reweigh.selective import check_coverage, threshold

CHUNK = 100_000


def held_out(train_set: Dataset, share: float | None, seed: int) -> tuple[Dataset, Dataset | None]:
    """The samples to train on, and those that set thresholds: a share of each class, or None.

    Raises:
        DataError: a class, or either side, would be left without a sample.
    """
    if share is None:
        return train_set, None
    stays, apart = set_apart(train_set, share, seed)
    lost = ((stays.class_sizes == 0) & (train_set.class_sizes > 0)).nonzero().flatten().tolist()
    if lost:
        names = ", ".join(train_set.class_names[label] for label in lost[:5])
        raise DataError(f"calibration: {share:g} leaves no sample of class {names} to train on; hold out fewer")
    return stays, apart


def rejoined(found: Fitted, whole: Dataset, stays: Dataset, apart: Dataset, device: torch.device) -> Fitted:
    """What training made of each sample of X, those that were held out judged by the network as it is in the end.

    Args:
        found: of a training on ``stays``.
        whole: all samples of X.
    """
    assert stays.origin is not None
    assert apart.origin is not None
    rows = probabilities(found.module, apart, device)
    store = predictions(whole.labels, whole.num_classes, 0.0)
    for index in torch.arange(len(stays)).split(CHUNK):
        store.restart(stays.origin[index], found.predictions[index])
    store.restart(apart.origin, rows)
    given = whole.labels if whole.candidates is None else likeliest_candidates(whole.candidates, store)
    losses = F.nll_loss(rows.log(), given[apart.origin].clamp_min(0), reduction="none")
    losses[apart.labels < 0] = float("nan")

    def joined(trained: Tensor, others: Tensor) -> Tensor:
        both = trained.new_empty(len(whole))
        both[stays.origin], both[apart.origin] = trained, others.to(trained.dtype)
        return both

    unknown = torch.full((len(apart),), float("nan"))
    return replace(
        found,
        given=given,
        suggested=joined(found.suggested, rows.argmax(1)),
        weights=None if found.weights is None else joined(found.weights, unknown),
        losses=joined(found.losses, losses),
        predictions=store,
        scores=scored(found.module, apart, at_once(apart), device).scores,
    )


def predict_or_abstain(found: Fitted, inputs: Inputs, coverage: float) -> np.ndarray:
    """The likeliest label of the samples that the network is sure of; -1 (among numbers) or None for the others.

    Raises:
        RecipeError: there is no such coverage.
        DataError: nothing was held out to set a threshold by.
    """
    check_coverage(coverage)
    if found.scores is None:
        raise DataError(
            "predict: coverage needs samples that were not trained on; fit with RobustClassifier(calibration=0.1), "
            "which holds out a tenth"
        )
    unknown = Targets(torch.zeros(len(inputs), dtype=torch.int64), found.classes)
    samples = dataset(found.features, inputs, unknown)
    device = next((param.device for param in found.module.parameters()), torch.device("cpu"))
    logits, scores = scored(found.module, samples, at_once(samples), device)
    labels = found.classes[logits.argmax(1).numpy()]
    doubtful = (scores < threshold(found.scores, coverage)).numpy()
    signed = np.result_type(labels.dtype, np.int8) if np.issubdtype(labels.dtype, np.number) else None
    if signed is not None and signed.kind in (labels.dtype.kind, "i") and not (found.classes == -1).any():
        labels = labels.astype(signed)  # a type that has negative numbers; of the largest ones there is none
        labels[doubtful] = -1
        return labels
    labels = labels.astype(object)
    labels[doubtful] = None
    return labels

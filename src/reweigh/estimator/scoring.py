"""What a training set is judged by: predictions made along the training, or by models that did not see the sample."""

import logging
from typing import Literal

import torch
from torch import Tensor

from reweigh.data import Dataset
from reweigh.estimator.trainer import Trained, Trainer, at_once
from reweigh.training import predict
from reweigh.training.randomness import seeded

logger = logging.getLogger(__name__)
Scoring = Literal["in-training", "out-of-fold"]
FOLDS = 5
ROWS_A_FEATURE = 2
MOST_ROWS = 20_000  # beyond, five more trainings take too long to be begun unasked


def choose_scoring(shape: tuple[int, ...], sparse: bool, samples: int) -> Scoring:
    """Where predictions on the training samples say something, they cost nothing; else held-out ones are needed.

    On a wide table, with fewer than two rows for each feature, a net memorizes all labels at once, and predicts what it
    was told. Images have many values too, but a net for images cannot use each of them by itself.

    Args:
        shape: of one sample.
        sparse: X is a sparse matrix.
        samples: in the training set.
    """
    if len(shape) == 1 and samples < ROWS_A_FEATURE * shape[0] and samples <= MOST_ROWS:
        logger.info(
            "label issues from out-of-fold predictions: %d rows for %d features are memorized at once; this trains "
            "five more models (scoring='in-training' does not)",
            samples,
            shape[0],
        )
        return "out-of-fold"
    return "in-training"


def in_training(trained: Trained) -> Tensor:
    """What was predicted for each training sample, averaged along training; shape (N, num_classes)."""
    return trained.recall.predictions[torch.arange(len(trained.recall.losses))]


def out_of_fold(trainer: Trainer, train_set: Dataset, predictions: Tensor) -> Tensor:
    """What models predict that were trained without the sample; each of five leaves out a fifth of every class.

    A class of a single sample is always trained on: its prediction stays.

    Args:
        predictions: shape (N, num_classes), for samples that are never left out.
    """
    fold = folds(train_set.labels, trainer.seed)
    judged = predictions.clone()
    for number in range(FOLDS):
        out = (fold == number).nonzero().flatten()
        if len(out) == 0:
            continue
        logger.info("out-of-fold predictions: training %d of %d", number + 1, FOLDS)
        rest = (fold != number).nonzero().flatten()
        trained = trainer.train(train_set.subset(rest))
        judged[out] = probabilities(trained.method.model, train_set.subset(out), trainer.device)
    return judged


def folds(labels: Tensor, seed: int) -> Tensor:
    """The fold of each sample, shape (N,), spread evenly over every class; -1 for the only sample of a class."""
    shuffled = torch.randperm(len(labels), generator=seeded(seed, FOLDS))
    grouped = shuffled[labels[shuffled].argsort(stable=True)]
    fold = torch.empty_like(labels)
    fold[grouped] = torch.arange(len(labels)) % FOLDS
    fold[torch.bincount(labels)[labels] == 1] = -1
    return fold


def probabilities(model: torch.nn.Module, samples: Dataset, device: torch.device) -> Tensor:
    """The probability of each class, shape (N, num_classes) float32; wide samples are taken few at a time."""
    rows = torch.empty(len(samples), samples.num_classes)
    for index in torch.arange(len(samples)).split(at_once(samples)):
        rows[index] = predict(model, samples.subset(index), device=device).double().softmax(1).float()
    return rows

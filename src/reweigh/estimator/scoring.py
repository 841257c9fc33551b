"""What a training set is judged by: predictions made along the training, or by models that did not see the sample."""

import logging
from typing import Literal

import torch
from torch import Tensor

from reweigh.data import Dataset
from reweigh.estimator.trainer import Trainer, at_once
from reweigh.pseudo_labels import Predictions
from reweigh.training.evaluation import logits
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


def out_of_fold(trainer: Trainer, train_set: Dataset, predictions: Predictions) -> None:
    """Put in the place of ``predictions`` what models predict that were trained without the sample.

    Each of five leaves out a fifth of every class. A class of a single sample is always trained on: its prediction
    stays.
    """
    fold = folds(train_set.labels, trainer.seed)
    for number in range(FOLDS):
        out = (fold == number).nonzero().flatten()
        if len(out) == 0:
            continue
        logger.info("out-of-fold predictions: training %d of %d", number + 1, FOLDS)
        trained = trainer.train(train_set.subset((fold != number).nonzero().flatten()))
        predictions.restart(out, probabilities(trained.method.model, train_set.subset(out), trainer.device))


def folds(labels: Tensor, seed: int) -> Tensor:
    """The fold of each sample, shape (N,), spread evenly over every class; -1 for the only sample of a class."""
    shuffled = torch.randperm(len(labels), generator=seeded(seed, FOLDS))
    grouped = shuffled[labels[shuffled].argsort(stable=True)]
    fold = torch.empty_like(labels)
    fold[grouped] = torch.arange(len(labels)) % FOLDS
    fold[torch.bincount(labels)[labels] == 1] = -1
    return fold


def probabilities(model: torch.nn.Module, samples: Dataset, device: torch.device) -> Tensor:
    """The probability of each class, shape (N, num_classes) float32."""
    rows = torch.empty(len(samples), samples.num_classes)
    for index, outputs in logits(model, samples, at_once(samples), device):
        rows[index] = outputs.double().softmax(1).float()
    return rows

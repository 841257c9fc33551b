"""What a training set is judged by: predictions made along the training, or by models that did not see the sample."""

import logging
from dataclasses import replace
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.estimator.confusion import posterior, transition, undone
from reweigh.estimator.trainer import Trainer, at_once
from reweigh.methods import METHODS
from reweigh.training.evaluation import logits
from reweigh.training.randomness import seeded

logger = logging.getLogger(__name__)
Scoring = Literal["in-training", "out-of-fold"]
FOLDS = 5
ROUNDS = 3
ROWS_A_FEATURE = 2
MOST_ROWS = 20_000  # beyond, so many trainings take too long to be begun unasked


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
            "label issues from out-of-fold predictions: %d rows for %d features are memorized at once; this trains %d "
            "more models, briefly (scoring='in-training' does not)",
            samples,
            shape[0],
            1 + ROUNDS * FOLDS,
        )
        return "out-of-fold"
    return "in-training"


class Judged(NamedTuple):
    """What held-out models say of the training samples.

    Attributes:
        places: shape (n,), of the samples that were held out.
        suggested: shape (n,), the likeliest class whatever the given label.
        rows: shape (n, num_classes), how likely each class is, the given label counted in.
    """

    places: Tensor
    suggested: Tensor
    rows: Tensor


def out_of_fold(trainer: Trainer, train_set: Dataset) -> Judged:
    """Judge samples by models that were trained without them.

    Models are trained plainly, and briefly: for as many epochs as predict the given labels of a held-out fifth best,
    which needs no true label; beyond, they memorize wrong ones. Five of them leave out a fifth of every class each, and
    all that three times over; what they predict along training is averaged. It follows the given labels, wrong ones
    too, so how labels are confused is estimated and undone (``confusion``).

    The only sample of a class and samples without a label are not judged.
    """
    plain = replace(trainer, method=METHODS["erm"])
    index = (folds(train_set.labels, trainer.seed) >= 0).nonzero().flatten()
    if len(index) == 0:
        return Judged(index, index, torch.empty(0, train_set.num_classes))
    epochs = brief_epochs(plain, train_set)
    logger.info("out-of-fold predictions: %d models, trained for %d epochs each", ROUNDS * FOLDS, epochs)
    rows = torch.zeros(len(train_set), train_set.num_classes, dtype=torch.float64)
    for number in range(ROUNDS):
        again = replace(plain, epochs=epochs, seed=trainer.seed + number)
        fold = folds(train_set.labels, again.seed)
        for out in (fold == place for place in range(FOLDS)):
            if out.any():
                rows[out] += held_out(again, train_set, out).predicted / ROUNDS
    given = train_set.labels[index]
    confusion = transition(rows[index], given)
    true = undone(rows[index], confusion)
    return Judged(index, true.argmax(1), posterior(true, given, confusion).float())


def brief_epochs(trainer: Trainer, train_set: Dataset) -> int:
    """After how many epochs the given labels of a fifth that is left out are predicted best."""
    fold = folds(train_set.labels, trainer.seed)
    losses = held_out(trainer, train_set, fold == fold[fold >= 0].mode().values).losses
    return min(range(len(losses)), key=losses.__getitem__) + 1


class HeldOut:
    """Looks at samples at the end of every epoch of a training that does not see them.

    Attributes:
        losses: an epoch each, the mean loss of the given labels.
    """

    def __init__(self, samples: Dataset, device: torch.device):
        self._samples = samples
        self._device = device
        self._sum = torch.zeros(len(samples), samples.num_classes, dtype=torch.float64)
        self.losses: list[float] = []

    def __call__(self, model: nn.Module) -> dict[str, float]:
        rows = probabilities(model, self._samples, self._device).double()
        self._sum += rows
        self.losses.append(float(F.nll_loss(rows.clamp_min(1e-12).log(), self._samples.labels)))
        return {}

    @property
    def predicted(self) -> Tensor:
        """The mean over the epochs, shape (n, num_classes) float64."""
        return self._sum / len(self.losses)


def held_out(trainer: Trainer, train_set: Dataset, out: Tensor) -> HeldOut:
    """Train on all labeled samples but some, and look at these.

    Args:
        out: shape (N,) bool.
    """
    look = HeldOut(train_set.subset(out), trainer.device)
    trainer.train(train_set.subset(train_set.labeled & ~out), evaluate=look)
    return look


def folds(labels: Tensor, seed: int) -> Tensor:
    """The fold of each sample, shape (N,), spread evenly over every class.

    It is -1, always trained on, for the only sample of a class; and -1 for a sample without a label (-1 as well).
    """
    shuffled = torch.randperm(len(labels), generator=seeded(seed, FOLDS))
    grouped = shuffled[labels[shuffled].argsort(stable=True)]
    fold = torch.empty_like(labels)
    fold[grouped] = torch.arange(len(labels)) % FOLDS
    sizes = torch.bincount(labels[labels >= 0], minlength=1)
    fold[(labels < 0) | (sizes[labels] == 1)] = -1
    return fold


def probabilities(model: torch.nn.Module, samples: Dataset, device: torch.device) -> Tensor:
    """The probability of each class, shape (N, num_classes) float32."""
    rows = torch.empty(len(samples), samples.num_classes)
    for index, outputs in logits(model, samples, at_once(samples), device):
        rows[index] = outputs.double().softmax(1).float()
    return rows

"""All that a training needs but the samples, so that it can be repeated on others."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Generator

from reweigh.core.method import Method
from reweigh.data import Dataset
from reweigh.errors import DivergedError
from reweigh.estimator.defaults import trusted_per_class, warm_up_epochs
from reweigh.estimator.modules import Build
from reweigh.losses import LOSSES
from reweigh.meta_sets import META_SETS
from reweigh.methods.setup import Setup
from reweigh.training import OPTIMIZERS, SCHEDULES, Observer, Recall, seed_all, train
from reweigh.training.loop import Evaluate
from reweigh.training.randomness import restore, snapshot

LOOKS = 10  # at the training samples, along training
SAMPLES_AT_ONCE = 500  # samples whose predictions are made together
VALUES_AT_ONCE = 10_000_000


class Trained(NamedTuple):
    """A method at the end of its training, the numbers of every epoch, and what it made of each sample."""

    method: Method
    history: list[dict[str, Any]]
    recall: Recall


@dataclass(frozen=True)
class Trainer:
    """Trains a fresh network with AdamW, its rate falling along a cosine.

    Attributes:
        build: shape of a sample and number of classes -> network.
        method: setup -> method, its options bound.
        clean_set: trusted samples apart from the training set; without it the samples of lowest loss are trusted.
    """

    build: Build
    method: Callable[[Setup], Method]
    epochs: int
    batch_size: int
    learning_rate: float
    seed: int
    device: torch.device
    clean_set: Dataset | None = None

    def train(self, train_set: Dataset, observer: Observer | None = None, evaluate: Evaluate | None = None) -> Trained:
        """Train on some samples; torch's, NumPy's and Python's own generators are left as they were.

        Args:
            evaluate: looks at the model at the end of every epoch.

        Raises:
            DivergedError: the loss or a parameter is no longer finite.
            ModelError: the network does not fit the samples.
        """
        with _own_randomness(self.seed):
            model = self.build(train_set.shape, train_set.num_classes).to(self.device)
            optimizer = OPTIMIZERS["adamw"](model.parameters(), lr=self.learning_rate)
            generator = Generator().manual_seed(self.seed)
            setup = Setup(
                model=model,
                optimizer=optimizer,
                train_set=train_set,
                meta_set=self._meta_set(train_set),
                clean_set=self.clean_set,
                loss=LOSSES["cross-entropy"],
                augment=None,
                generator=generator,
                device=self.device,
            )
            method = self.method(setup)
            recall = Recall(train_set, self.epochs, LOOKS, self.device, at_once(train_set))
            try:
                result = train(
                    method,
                    train_set,
                    SCHEDULES["cosine"](optimizer, self.epochs),
                    evaluate=evaluate,
                    observer=observer,
                    generator=generator,
                    device=self.device,
                    recall=recall,
                    epochs=self.epochs,
                    warmup_epochs=warm_up_epochs(self.epochs),
                    batch_size=min(self.batch_size, len(train_set)),
                    seed=self.seed,
                )
            except DivergedError as error:
                raise DivergedError(str(error).replace("optimizer.lr", "learning_rate")) from error
        method.model.eval()
        return Trained(method, result.history, recall)

    def _meta_set(self, train_set: Dataset) -> Any:
        if self.clean_set is not None:
            return META_SETS["clean"](path="X_trusted")
        return META_SETS["lowest-loss"](per_class=trusted_per_class(train_set.class_sizes), judge="training")


def at_once(samples: Dataset) -> int:
    """How many samples to predict at once; wide ones are taken few at a time."""
    return max(1, min(SAMPLES_AT_ONCE, VALUES_AT_ONCE // max(1, torch.Size(samples.shape).numel())))


@contextmanager
def _own_randomness(seed: int) -> Iterator[None]:
    before = snapshot()
    try:
        seed_all(seed)
        yield
    finally:
        restore(before)

"""All that a training leaves behind: the network, how X is read, and what became of each sample."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reweigh.data import Dataset, Inputs
from reweigh.estimator.features import Features
from reweigh.estimator.scoring import in_training, out_of_fold, probabilities
from reweigh.estimator.targets import Targets
from reweigh.estimator.trainer import Trainer
from reweigh.estimator.weighting import Weighting, weighting_of
from reweigh.training import Observer


@dataclass(frozen=True)
class Fitted:
    """A trained classifier.

    Attributes:
        features: how X becomes inputs.
        classes: shape (num_classes,), as the user writes them.
        module: the network, in evaluation mode.
        weighting: the weighting function, if one was learned.
        scoring: where ``predictions`` come from.
        given: shape (N,), the class of each training sample by its given label.
        suggested: shape (N,), the class that training suggests.
        weights: shape (N,), as learned, mean along training; NaN for a sample that was never weighed, None if the
            method learns none.
        predictions: shape (N, num_classes), what was predicted for each training sample.
        history: a line an epoch.
    """

    features: Features
    classes: np.ndarray
    module: nn.Module
    weighting: Weighting | None
    scoring: str
    given: Tensor
    suggested: Tensor
    weights: Tensor | None
    predictions: Tensor
    history: list[dict[str, Any]]

    @property
    def family(self) -> Tensor | None:
        """The family of each training sample, shape (N,)."""
        return None if self.weighting is None else self.weighting.families.of_class[self.given]

    def probabilities(self, inputs: Inputs) -> Tensor:
        """What the network predicts for other inputs, shape (n, num_classes)."""
        unknown = Targets(torch.zeros(len(inputs), dtype=torch.int64), self.classes)
        device = next((param.device for param in self.module.parameters()), torch.device("cpu"))
        return probabilities(self.module, dataset(self.features, inputs, unknown), device)

    def losses(self) -> Tensor:
        """-log of the probability predicted for each given label, shape (N,)."""
        return -self.predictions.gather(1, self.given[:, None]).squeeze(1).clamp_min(1e-12).log()


def dataset(features: Features, inputs: Inputs, targets: Targets, weights: Tensor | None = None) -> Dataset:
    """Inputs and labels together, normalized as in training."""
    return Dataset(
        inputs,
        targets.labels,
        tuple(map(str, targets.classes)),
        normalize=features.normalize(inputs),
        sample_weight=weights,
        soft_labels=targets.rows,
    )


def train(
    trainer: Trainer,
    train_set: Dataset,
    features: Features,
    classes: np.ndarray,
    scoring: str,
    observer: Observer | None,
) -> Fitted:
    """Train, and judge the training samples.

    Args:
        scoring: "in-training" or "out-of-fold".
    """
    trained = trainer.train(train_set, observer)
    method = trained.method
    predictions = in_training(trained)
    if scoring == "out-of-fold":
        predictions = out_of_fold(trainer, train_set, predictions)
    pseudo_labels = getattr(method, "pseudo_labels", None)
    return Fitted(
        features=features,
        classes=classes,
        module=method.model,
        weighting=weighting_of(method.weighting(), train_set.class_sizes),
        scoring=scoring,
        given=train_set.labels,
        suggested=predictions.argmax(1) if pseudo_labels is None else pseudo_labels(),
        weights=trained.recall.weights if method.weighting() is not None else None,
        predictions=predictions,
        history=trained.history,
    )

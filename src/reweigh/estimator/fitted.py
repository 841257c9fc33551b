"""All that a training leaves behind: the network, how X is read, and what became of each sample."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reweigh.data import Dataset, Inputs
from reweigh.estimator.features import Features
from reweigh.estimator.scoring import out_of_fold, probabilities
from reweigh.estimator.targets import Targets
from reweigh.estimator.trainer import Trainer
from reweigh.estimator.weighting import Weighting, weighting_of
from reweigh.label_issues import Judgment, judge, likeliest_candidates
from reweigh.pseudo_labels import Predictions
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
        given: shape (N,), the class of each training sample by its given label; of several candidates the likeliest.
        suggested: shape (N,), the class that training suggests.
        weights: shape (N,), mean along training; NaN for a sample never weighed, None if the method weighs none.
        losses: shape (N,), of the given labels as the network sees them in the end.
        predictions: what was predicted for each training sample, by index.
        history: a line an epoch.
        scores: shape (n,), how sure the network is of the samples that were held out; None if none were.
    """

    features: Features
    classes: np.ndarray
    module: nn.Module
    weighting: Weighting | None
    scoring: str
    given: Tensor
    suggested: Tensor
    weights: Tensor | None
    losses: Tensor
    predictions: Predictions
    history: list[dict[str, Any]]
    scores: Tensor | None = None

    @property
    def family(self) -> Tensor | None:
        """The family of each training sample, shape (N,); without a label by the suggested class."""
        if self.weighting is None:
            return None
        return self.weighting.families.of_class[guessed(self.given, self.suggested)]

    @property
    def judgment(self) -> Judgment:
        """What is thought of the given labels.

        Where models held samples out, their word alone counts: weights come from a network that may have memorized.
        """
        if self.scoring == "out-of-fold":
            found = judge(self.given, self.predictions)
            wrong = (self.given >= 0) & (self.suggested != self.given)
            return found._replace(suggested=self.suggested, wrong=wrong)
        learned = None if self.family is None else self.weights  # those of self-paced learning, say, mean other things
        return judge(self.given, self.predictions, learned)

    def probabilities(self, inputs: Inputs) -> Tensor:
        """What the network predicts for other inputs, shape (n, num_classes)."""
        unknown = Targets(torch.zeros(len(inputs), dtype=torch.int64), self.classes)
        device = next((param.device for param in self.module.parameters()), torch.device("cpu"))
        return probabilities(self.module, dataset(self.features, inputs, unknown), device)


def dataset(features: Features, inputs: Inputs, targets: Targets, weights: Tensor | None = None) -> Dataset:
    """Inputs and labels together, normalized as in training."""
    return Dataset(
        inputs,
        targets.labels,
        tuple(map(str, targets.classes)),
        normalize=features.normalize(inputs),
        sample_weight=weights,
        soft_labels=targets.rows,
        candidates=targets.candidates,
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
    method, recall = trained.method, trained.recall
    pseudo_labels = method.pseudo_labels()
    suggested = recall.predictions.labels() if pseudo_labels is None else pseudo_labels
    if train_set.candidates is not None:
        scoring = "in-training"  # held-out models judge a given label, and there is none
    if scoring == "out-of-fold":
        judged = out_of_fold(trainer, train_set)
        recall.predictions.restart(judged.places, judged.rows)
        suggested = suggested.index_copy(0, judged.places, judged.suggested)
    given = train_set.labels
    if train_set.candidates is not None:
        given = likeliest_candidates(train_set.candidates, recall.predictions)
    return Fitted(
        features=features,
        classes=classes,
        module=method.model,
        weighting=weighting_of(method.weighting(), train_set.with_labels(guessed(given, suggested)).class_sizes),
        scoring=scoring,
        given=given,
        suggested=suggested,
        weights=recall.weights,
        losses=recall.losses,
        predictions=recall.predictions,
        history=trained.history,
    )


def guessed(given: Tensor, suggested: Tensor) -> Tensor:
    """The given labels, and for samples without one the suggested class; shape (N,)."""
    return torch.where(given >= 0, given, suggested)

"""Looks by classifiers that are fitted in one go, as scikit-learn's: each leaves out a fold, and predicts it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from reweigh.core.sparse import SparseBatch
from reweigh.data import Dataset
from reweigh.errors import ModelError
from reweigh.issues.stock import TINY
from reweigh.looks.look import Look
from reweigh.losses.class_sizes import log_shares
from reweigh.models.ensemble import member_of
from reweigh.models.trees import Trees
from reweigh.training.state import Stages

LEAST_PART = 0.02  # a class that is less likely than this is not learned


class Parts(NamedTuple):
    """Samples with a row for each of their likely classes.

    Attributes:
        samples: Shape (n,), the sample of each row.
        classes: Shape (n,), its class.
        weight: Shape (n,), how likely that class is, times the sample's own weight.
    """

    samples: np.ndarray
    classes: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True)
class Classifiers(ABC):
    """Classifiers of one kind that look at a training set.

    Attributes:
        name: Name of the kind.
        most: Its share in a mixture with networks, at most.
        train_set: Rows of numbers.
        given: Shape (N, C), the given labels as rows that sum to one.
        stages: Keeps the result of each look, for a run that is resumed.
        seed: Their random state.
        prior: Whether the models predict as if all classes were equally frequent.
    """

    name: ClassVar[str]
    most: ClassVar[float] = 1.0
    train_set: Dataset
    given: Tensor
    stages: Stages
    seed: int
    prior: bool

    def first(self, fold: Tensor, folds: int) -> Look:
        """Classifiers without each fold, with the setting that predicts the given labels of the folds best."""
        return self._look("first", self.given, fold, folds, None)

    def again(self, targets: Tensor, fold: Tensor, first: Look) -> Look:
        """Classifiers that learn the likely classes of each sample.

        Args:
            targets: Shape (N, C), how likely each class is.
            first: The first look, whose setting they take.
        """
        return self._look("second", targets, fold, len(first.models), first.history[-1]["setting"])

    @abstractmethod
    def trained(
        self, rows: Any, parts: list[Parts], folds: list[np.ndarray], setting: Any
    ) -> tuple[list[nn.Module], Any]:
        """The classifiers as modules, and their setting.

        Args:
            rows: Shape (N, F), an array in single precision, or a sparse matrix.
            parts: What each of them learns from.
            folds: Which samples each of them leaves out.
            setting: None to find the best.
        """

    def losses(self, chances: np.ndarray, classes: np.ndarray, held_out: np.ndarray) -> float:
        """The sum of the losses of held-out given labels.

        Args:
            chances: Shape (n, k), probabilities of those samples.
            classes: Shape (k,), the classes of the columns.
        """
        return float(-np.log((self.given.numpy()[held_out][:, classes] * chances).sum(1).clip(TINY)).sum())

    def _look(self, which: str, targets: Tensor, fold: Tensor, folds: int, setting: Any) -> Look:
        rows = rows_of(self.train_set)
        found = self._stage(f"{which} look of {self.name}", lambda: self._fitted(rows, targets, fold, folds, setting))
        inputs = [batch.inputs for batch in self.train_set.batches(torch.arange(len(fold)).split(self.train_set.chunk))]
        logs = []
        for number, model in enumerate(found["models"]):
            logits = torch.cat([model(some) for some in inputs])
            shares = log_shares(targets[fold != number].sum(0)).float()
            if self.prior:
                model.offset -= shares
            logs.append((logits - shares).log_softmax(1))
        each, held_out = torch.stack(logs), (fold >= 0).nonzero().flatten()
        unseen = each[fold[held_out], held_out]
        best = each.mean(0).log_softmax(1).index_copy(0, held_out, unseen)
        return Look(found["models"], best, best, unseen, held_out, True, [{"setting": found["setting"]}])

    def _fitted(self, rows: Any, targets: Tensor, fold: Tensor, folds: int, setting: Any) -> dict[str, Any]:
        parts = [self._parts(targets, fold != number) for number in range(folds)]
        left_out = [(fold == number).numpy() for number in range(folds)]
        models, setting = self.trained(rows, parts, left_out, setting)
        return {"models": models, "setting": setting}

    def _stage(self, name: str, fit: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of a look, stored as tensors."""

        def states() -> dict[str, Any]:
            found = fit()
            return {"states": [dict(model.state_dict()) for model in found["models"]], "setting": found["setting"]}

        found = self.stages(name, states)
        models = []
        for state in found["states"]:
            model = member_of(state)
            assert model is not None
            model.load_state_dict(state)
            models.append(model.eval())
        return {"models": models, "setting": found["setting"]}

    def _parts(self, targets: Tensor, seen: Tensor) -> Parts:
        parts = (targets * seen[:, None]).numpy()
        index, classes = np.nonzero(parts > LEAST_PART)
        weight = parts[index, classes]
        if self.train_set.sample_weight is not None:
            weight = weight * self.train_set.sample_weight.numpy()[index]
        return Parts(index, classes, weight)


def rows_of(dataset: Dataset) -> Any:
    """The samples as a model gets them, shape (N, F): an array in single precision, or a sparse matrix."""
    found = [as_rows(batch.inputs) for batch in dataset.batches(torch.arange(len(dataset)).split(dataset.chunk))]
    if isinstance(found[0], np.ndarray):
        return np.concatenate(found)
    from scipy.sparse import vstack

    return vstack(found, "csr")


def as_rows(inputs: Tensor) -> Any:
    """A batch as scikit-learn takes it, shape (n, F)."""
    if not isinstance(inputs, SparseBatch):
        return inputs.flatten(1).float().cpu().numpy()
    from scipy.sparse import csr_matrix

    return csr_matrix(inputs.matrix)


@dataclass(frozen=True)
class OwnClassifier(Classifiers):
    """Looks by copies of a classifier of the user's, with ``fit(X, y, sample_weight)`` and ``predict_proba``.

    Attributes:
        classifier: Anything that follows scikit-learn's rules; it is not changed.
    """

    name: ClassVar = "own classifier"
    classifier: Any = None

    def trained(
        self, rows: Any, parts: list[Parts], folds: list[np.ndarray], setting: Any
    ) -> tuple[list[nn.Module], Any]:
        from sklearn.base import clone

        models: list[nn.Module] = []
        for number, part in enumerate(parts):
            known, classes = np.unique(part.classes, return_inverse=True)
            copy: Any = clone(self.classifier)
            try:
                copy.fit(rows[part.samples], classes, **{weight_name(copy): part.weight})
            except Exception as error:
                where = f"fold {number + 1} of {len(parts)} left out"
                raise ModelError(
                    f"model: {type(copy).__name__} could not be fitted ({where}): {type(error).__name__}: {error}"
                ) from error
            models.append(as_module(copy, known, self.given.shape[1]))
        return models, "own"

    def _stage(self, name: str, fit: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Computed each time: it cannot be stored safely."""
        return fit()


def as_module(classifier: Any, classes: np.ndarray, num_classes: int) -> nn.Module:
    """A fitted classifier as a module: boosted trees as tensors, which can be stored; anything else as it is."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    if type(classifier) is HistGradientBoostingClassifier and classifier.is_categorical_ is None:
        return Trees.of(classifier, num_classes, classes=classes.tolist())
    return ByProbabilities(classifier, classes, num_classes)


class ByProbabilities(nn.Module):
    """A fitted classifier of scikit-learn's kind as a module: rows to logits; it is not differentiable.

    Attributes:
        offset: Shape (C,), what is added to the logits.
    """

    offset: Tensor

    def __init__(self, classifier: Any, classes: np.ndarray, num_classes: int):
        super().__init__()
        self.classifier, self.classes = classifier, torch.from_numpy(classes)
        self.register_buffer("offset", torch.zeros(num_classes))

    @torch.no_grad()
    def forward(self, inputs: Tensor) -> Tensor:
        chances = torch.as_tensor(np.asarray(self.classifier.predict_proba(as_rows(inputs)), dtype=np.float32))
        found = torch.full((len(inputs), len(self.offset)), TINY)
        return found.index_copy(1, self.classes, chances).clamp_min(TINY).log().to(self.offset) + self.offset

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        raise ModelError(
            f"model: {type(self.classifier).__name__} cannot be stored without pickle, which runs code when it is "
            "read; pickle the RobustClassifier yourself, or train with model='boosted-trees', which can be stored"
        )


def check_classifier(classifier: Any) -> None:
    """Refuse a classifier that cannot look, before anything is trained.

    Raises:
        ModelError: It has no ``predict_proba``, or its ``fit`` takes no weights of samples.
    """
    name = type(classifier).__name__
    if not hasattr(classifier, "predict_proba"):
        hint = "; pass probability=True" if "probability" in classifier.get_params() else ""
        raise ModelError(f"model: {name} has no predict_proba, which tells how likely each class is{hint}")
    weight_name(classifier)


def weight_name(classifier: Any) -> str:
    """The argument of ``fit`` that takes a weight for each sample.

    Raises:
        ModelError: There is none.
    """
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    prefix, last = "", classifier
    while isinstance(last, Pipeline):
        step, last = last.steps[-1]
        prefix += f"{step}__"
    if not has_fit_parameter(last, "sample_weight"):
        raise ModelError(
            f"model: fit of {type(last).__name__} takes no sample_weight, with which doubtful labels count less; "
            "pass a classifier that does, such as HistGradientBoostingClassifier or LogisticRegression"
        )
    return f"{prefix}sample_weight"

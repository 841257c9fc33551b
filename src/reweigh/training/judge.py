"""The judge: keep the epoch whose averaged model predicts held-out given labels best."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from reweigh.core.method import Stateful
from reweigh.pseudo_labels import AveragedModel
from reweigh.training.predictions import Record

MIN_LEAD = 1.0  # standard errors by which an epoch must be better than the last one to be kept instead
MAX_LAG = 0.5  # standard errors: among epochs this close to the best, the latest is kept
MIN_PROGRESS = 0.1  # share of the epochs before which none is kept
EARLY_SHARE = 0.5  # share of the epochs: a model that is best before then has begun to memorize
PATIENCE_SHARE = 0.1  # share of the epochs, at least 2, that must have passed since the best one before training stops


class HeldOutScores(Stateful):
    """Accuracy on held-out given labels, epoch by epoch, and whether a difference is more than chance.

    The labels may be wrong: that lowers the scores of all epochs alike, unless a network has learned to repeat wrong
    labels, which held-out samples do not reward. Scores are means over three epochs.

    >>> scores = HeldOutScores(torch.tensor([0, 0, 0, 1]))
    >>> scores.add(torch.tensor([0, 0, 0, 0]))
    >>> scores.scores()  # all of one class and none of the other
    tensor([0.5000], dtype=torch.float64)

    Attributes:
        right: Shape (epochs, n) bool, which samples each epoch got right.

    Args:
        labels: Shape (n,), the given labels of the held-out samples.
        balanced: Whether every class counts the same, instead of every sample.
    """

    state = ("right",)

    def __init__(self, labels: Tensor, balanced: bool = True):
        self._labels = labels
        sizes = torch.bincount(labels, minlength=1).clamp_min(1)[labels].double()
        weights = 1 / sizes if balanced else torch.ones_like(sizes)
        self._weights = weights / weights.sum()
        self.right = torch.empty(0, len(labels), dtype=torch.bool)

    def add(self, predicted: Tensor) -> None:
        """Take an epoch into account: the class that was predicted for each sample, shape (n,)."""
        self.right = torch.cat([self.right, (predicted == self._labels)[None]])

    def around(self, epoch: int) -> Tensor:
        """How often each sample was right in an epoch and its neighbors: shape (n,), from 0 to 1."""
        return self.right[max(0, epoch - 1) : epoch + 2].double().mean(0)

    def scores(self) -> Tensor:
        """The accuracy around each epoch, shape (epochs,)."""
        return torch.stack([self.around(epoch) @ self._weights for epoch in range(len(self.right))])

    def best(self, epochs: int, first: int = 0) -> int:
        """The epoch with the highest score among the first ``epochs``, from ``first`` on if there are so many."""
        first = min(first, epochs - 1)
        return first + int(self.scores()[first:epochs].argmax())

    def latest_of_the_best(self, epochs: int, first: int) -> int:
        """The latest epoch that is about as good as the best; few held-out samples often see the best too early."""
        best = self.best(epochs, first)
        for epoch in range(epochs - 1, best, -1):
            behind, error = self.compare(self.around(best), self.around(epoch))
            if behind <= MAX_LAG * error:
                return epoch
        return best

    def accuracy(self, epoch: int) -> tuple[float, float]:
        """The accuracy of an epoch alone, and its standard error."""
        right = self.right[epoch].double()
        return self.compare(right, right.new_zeros(len(right)))

    def compare(self, one: Tensor, other: Tensor) -> tuple[float, float]:
        """The difference between two results of ``around``, and its standard error.

            d = sum of w_i (one_i - other_i),        se^2 = sum of w_i^2 (one_i - other_i - d)^2

        Compared sample by sample, so what is hard for both does not count as chance.
        """
        difference = one - other
        mean = difference @ self._weights
        return float(mean), float((self._weights * (difference - mean)).norm())


class Judge(Stateful):
    """Judges the model of any method after each epoch by its accuracy on held-out given labels.

    These labels may be wrong, but memorizing wrong labels does not help to predict other wrong ones. What is judged,
    tested and kept is an exponential moving average of the model over about one epoch. The last epoch is
    kept unless an earlier one is better by more than a standard error (scores are means over three epochs, compared
    sample by sample).

    Attributes:
        model: The averaged model.
        scores: The score of each epoch.
        over: Whether the best epoch is clearly past, so that training can stop.

    Args:
        model: Model of the method; a copy is kept.
        labels: Shape (n,), given labels of the held-out samples.
        predict: Model -> the class that it predicts for each of these samples, shape (n,).
        steps: Number of steps in an epoch.
        epochs: Number of epochs.
        balanced: Whether every class counts the same, instead of every sample.
        stops: Whether training stops when the accuracy has clearly fallen since an early epoch.
        chooses: Whether an epoch is chosen; otherwise the last one is kept.
    """

    state = ("_average", "scores", "_kept", "over")

    def __init__(
        self,
        model: nn.Module,
        labels: Tensor,
        predict: Callable[[nn.Module], Tensor],
        steps: int,
        epochs: int,
        *,
        balanced: bool = True,
        stops: bool = False,
        chooses: bool = True,
    ):
        self._predict, self._epochs, self._stops, self._chooses = predict, epochs, stops, chooses
        self._first = max(0, round(MIN_PROGRESS * epochs) - 1)
        self._average = AveragedModel(model, decay=1 - 1 / max(1, steps))
        self.scores = HeldOutScores(labels, balanced)
        self.over = False
        self._kept: dict[int, dict[str, Any]] = {}  # the averaged model and the record of epochs that may be kept

    @property
    def model(self) -> nn.Module:
        return self._average.model

    def step(self, model: nn.Module) -> None:
        self._average.update(model)

    def end_epoch(self, record: Record | None) -> dict[str, float]:
        """Judge the epoch: its accuracy, the standard error, and the epoch to keep if it were the last."""
        scores, epoch = self.scores, len(self.scores.right)
        scores.add(self._predict(self.model))
        self._kept[epoch] = {
            "model": {name: value.clone() for name, value in self.model.state_dict().items()},
            "record": deepcopy(record.state_dict()) if record else None,
        }
        # the score of the latest epoch is not yet a mean of three; the others change no more
        able = {epoch}
        if epoch and self._chooses:
            able |= {scores.best(epoch, self._first), scores.latest_of_the_best(epoch, self._first)}
        self._kept = {number: kept for number, kept in self._kept.items() if number in able}
        best, patience = self.best, max(2, round(PATIENCE_SHARE * self._epochs))
        self.over = self._stops and best < EARLY_SHARE * self._epochs and epoch - best >= patience
        if scores.right.shape[1] == 0:  # nothing is held out: it only averages
            return {"keeps": best + 1}
        accuracy, error = scores.accuracy(epoch)
        return {"accuracy": accuracy, "error": error, "keeps": best + 1}

    @property
    def best(self) -> int:
        scores, last = self.scores, len(self.scores.right) - 1
        if not self._chooses:
            return last
        best = scores.latest_of_the_best(last + 1, self._first)
        lead, error = scores.compare(scores.around(best), scores.around(last))
        return best if lead > MIN_LEAD * error else last

    @property
    def early(self) -> bool:
        """Whether the epoch to keep came early, because wrong labels were memorized after it."""
        return self.best < EARLY_SHARE * self._epochs

    def restore(self, model: nn.Module, record: Record | None) -> None:
        """Turn a model into the averaged model of the epoch to keep, and let the record end there."""
        last, best = len(self.scores.right) - 1, self.best
        kept = self._kept[best]
        model.load_state_dict(kept["model"])
        if record and best < last:
            record.load_state_dict(kept["record"])
            record.look(model)

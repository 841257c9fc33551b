"""The judge: keep the epoch whose averaged model predicts held-out given labels best."""

from typing import Any

import torch
from torch import nn

from reweigh.core.held_out_scores import HeldOutScores
from reweigh.pseudo_labels import AveragedModel
from reweigh.training.evaluation import Samples, logits
from reweigh.training.recall import Recall

CERTAIN = 1.0  # standard errors by which an earlier epoch must be better than the last to be kept


class Judge:
    """Judges the model of any method after each epoch by its class-balanced accuracy on held-out given labels.

    These labels may be wrong, but memorizing wrong labels does not help to predict other wrong ones. What is judged,
    tested and kept is an exponential moving average of the model over about one epoch. The last epoch is
    kept unless an earlier one is better by more than a standard error (scores are means over three epochs, compared
    sample by sample).

    Attributes:
        model: the averaged model.
        scores: the score of each epoch.

    Args:
        model: the model of the method; a copy is kept.
        held_out: samples that the method does not train on.
        steps: steps in an epoch.
        device: of the model.
    """

    def __init__(self, model: nn.Module, held_out: Samples, steps: int, device: Any = "cpu"):
        self._held_out, self._device = held_out, device
        self._average = AveragedModel(model, decay=1 - 1 / max(1, steps))
        self.scores = HeldOutScores(held_out.labels)
        self._kept: dict[int, dict[str, Any]] = {}  # the averaged model and the recall of epochs that may be kept

    @property
    def model(self) -> nn.Module:
        return self._average.model

    def step(self, model: nn.Module) -> None:
        """Update the average."""
        self._average.update(model)

    def end_epoch(self, recall: Recall | None) -> dict[str, float]:
        """Judge the epoch: its balanced accuracy, the standard error, and the epoch to keep if it were the last."""
        epoch = len(self.scores.right)
        found = [outputs.argmax(1) for _, outputs in logits(self.model, self._held_out, self._device)]
        self.scores.add(torch.cat(found))
        self._kept[epoch] = {
            "model": {name: value.clone() for name, value in self.model.state_dict().items()},
            "recall": recall.state_dict(copy=True) if recall else None,
        }
        # of the epochs before this one the scores are final, so only the best of them can still be kept
        able = {epoch, self.scores.best(epoch)} if epoch else {epoch}
        self._kept = {number: kept for number, kept in self._kept.items() if number in able}
        accuracy, error = self.scores.balanced(epoch)
        return {"accuracy": accuracy, "error": error, "keeps": self.best + 1}

    @property
    def best(self) -> int:
        """The epoch to keep, counted from 0."""
        last = len(self.scores.right) - 1
        best = self.scores.best(last + 1)
        lead, error = self.scores.compare(self.scores.around(best), self.scores.around(last))
        return best if lead > CERTAIN * error else last

    def restore(self, model: nn.Module, recall: Recall | None) -> None:
        """Turn a model into the averaged model of the epoch to keep, and let the recall end there."""
        last, best = len(self.scores.right) - 1, self.best
        kept = self._kept[best]
        model.load_state_dict(kept["model"])
        if recall and best < last:
            recall.load_state_dict(kept["recall"])
            recall.look(model)

    def state_dict(self) -> dict[str, Any]:
        return {"average": self._average.state_dict(), "right": self.scores.right, "kept": self._kept}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._average.load_state_dict(state["average"])
        self.scores.right, self._kept = state["right"], dict(state["kept"])

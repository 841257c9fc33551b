"""When soft labels begin: a decision by samples that are held out until then."""

import logging
from typing import Any

from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.held_out_scores import HeldOutScores
from reweigh.methods.parts.folds import stratified_folds
from reweigh.methods.parts.stock import anchored_joint, label_rows, wrong_in_joint
from reweigh.methods.setup import Setup

log = logging.getLogger(__name__)

FOLDS = 10  # one of which is held out
LATEST = 0.5  # of the highest learning rate: below, a model hardly moves any more, and it is too late to begin


class Onset:
    """Holds out a tenth of each class, and says when a model corrects labels better than they were given.

    That is the first epoch after which both hold:

    A. The model is right more often than the given labels. It agrees with a share A of the held-out labels, of which
       a share eps is wrong (estimated from its surest predictions); if labels are wrong in no particular direction,

           A  >  (1 - eps)^2 + eps^2 / (C - 1)

    B. It has stopped getting better by itself: the latest two means over three epochs of its class-balanced accuracy on
       the held-out labels are below an earlier one.

    It may never come: if labels are right, if the model is weak, or if training is short. Held-out samples are trained
    on as soon as the decision is made, and at the latest when the learning rate has fallen below half.

    Attributes:
        open: whether the decision is still to be made.

    Args:
        setup: of the method; classes of fewer than ten samples are never held out.
    """

    def __init__(self, setup: Setup):
        self._setup = setup
        self._hold_out(stratified_folds(setup.train_set.labels, FOLDS, FOLDS, setup.generator) == 0)
        self._highest_rate = 0.0
        self.open = bool(self._held_out.any())

    def _hold_out(self, chosen: Tensor) -> None:
        self._held_out, self._judging = chosen, chosen.nonzero().flatten()
        self._given = label_rows(self._setup.train_set)[self._judging]
        self._judge = HeldOutScores(self._setup.train_set.labels[self._judging])

    def training(self, batch: Batch) -> Batch:
        """The samples of a batch that are trained on."""
        if not self.open:
            return batch
        kept = batch.where(~self._held_out.to(batch.index.device)[batch.index])
        return kept if len(kept) > 1 else batch  # BatchNorm cannot train on a single sample

    def decides(self, model: nn.Module, warm_up: bool) -> bool:
        """Whether soft labels begin with the epoch that starts now; asked until the decision is made.

        Args:
            model: what would correct labels.
            warm_up: whether the epoch is part of the warm-up, which they do not begin in.
        """
        rate = self._setup.optimizer.param_groups[0]["lr"]
        self._highest_rate = max(rate, self._highest_rate)
        logits = self._setup.logits(model, self._judging)
        self._judge.add(logits)
        late = rate < LATEST * self._highest_rate
        begins = not warm_up and not late and self._has_peaked() and self._is_better(logits.softmax(1))
        self.open = not (begins or late)
        return begins

    def _has_peaked(self) -> bool:
        epochs = len(self._judge.right)
        return self._judge.best(epochs) < epochs - 2

    def _is_better(self, predictions: Tensor) -> bool:
        agrees = float(self._given.gather(1, predictions.argmax(1)[:, None]).mean())
        wrong = float(self._given.mean(0) @ wrong_in_joint(anchored_joint(predictions, self._given)))
        log.info(
            "soft labels: the average agrees with %.0f %% of held-out labels, %.0f %% wrong", 100 * agrees, 100 * wrong
        )
        return agrees > (1 - wrong) ** 2 + wrong**2 / max(1, self._given.shape[1] - 1)

    def state_dict(self) -> dict[str, Any]:
        return {
            "held_out": self._held_out,
            "right": self._judge.right,
            "highest_rate": self._highest_rate,
            "open": self.open,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._hold_out(state["held_out"])
        self._judge.right, self._highest_rate, self.open = state["right"], state["highest_rate"], state["open"]

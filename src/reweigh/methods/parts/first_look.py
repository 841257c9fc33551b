"""The first of two looks: learn until wrong labels would be memorized, and predict samples that were not seen."""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.held_out_scores import HeldOutScores
from reweigh.losses.prior import TINY
from reweigh.methods.parts.prior import Prior
from reweigh.methods.parts.student import Student
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import AveragedModel

CERTAIN = 1.0  # standard errors by which the accuracy must fall to stop training, or to keep an earlier epoch
SLACK = 0.5  # standard errors: among epochs this close to the best, the latest is kept
LEAST = 0.1  # share of a full training before which no epoch is kept
EARLY = 0.5  # share of a full training: a look that is best before then has begun to memorize
PATIENCE = 0.1  # share of a full training (at least 2 epochs) that must have passed since the best epoch


class FirstPredictions(NamedTuple):
    """What the first look predicts, as if all classes were equally frequent.

    Attributes:
        best: shape (N, C), the best guess for each sample.
        unseen: shape (N, C), predictions by networks that were trained without the sample; zeros if there are none.
        known: indices of the samples that have such a prediction.
    """

    best: Tensor
    unseen: Tensor
    known: Tensor


class FirstLook:
    """Plain training with prior correction without fold 0, which judges it; then, if there is time, without the others.

    If samples are few, one fold is too small to judge well, and training is cheap. Then one network per fold is trained
    side by side with the others, each without its fold, and all folds judge.

    Attributes:
        judging: indices of the samples that judge.
        judge: scores after each epoch.
        best: epoch that was kept.
        members: number of networks that were trained to the end.

    Args:
        given: shape (N, C), the given labels as rows that sum to one.
        fold: shape (N,), the fold of each sample; -1 if it is never held out. If all are -1, there is no judge.
        averages: EMAs, one for the network of each fold.
        length: number of epochs of a full training.
        epochs: largest number of epochs, for all folds together.
        budget: largest amount of work for all folds together, in full trainings.
        together: whether all folds are trained side by side, whatever it costs.
    """

    def __init__(
        self,
        setup: Setup,
        prior: Prior,
        given: Tensor,
        fold: Tensor,
        averages: list[AveragedModel],
        *,
        length: int,
        epochs: int,
        budget: float,
        together: bool,
    ):
        self._setup, self._prior, self._given, self._fold, self._averages = setup, prior, given, fold, averages
        self._length, self._epochs, self._budget = length, epochs, budget
        self.judging = ((fold >= 0) if together else (fold == 0)).nonzero().flatten()
        self.judge = HeldOutScores(setup.train_set.labels[self.judging])
        self.best, self.members = 0, 0
        self._memory = torch.zeros_like(
            given, device=setup.device
        )  # sum of the predictions for each sample at its own steps
        self._kept: dict[int, dict[str, Any]] = {}  # average and memory of the epochs that may be kept
        self._epoch = 0  # of the networks in training
        self.students = {0: Student(setup.model, setup.optimizer, averages[0])}  # by the fold that they do not see
        if together:
            self.students |= self._fresh()
        self._log_shares = [prior.log_shares(given[fold != number]) for number in range(len(averages))]

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        """Train each network on the samples that it may see.

        Returns:
            Numbers to log; empty if there are no such samples.
        """
        losses, fold = [], self._fold[batch.index]
        for number, student in self.students.items():
            seen = batch.where(fold != number)
            if len(seen) < 2:  # BatchNorm cannot train on a single sample
                continue
            logits, log_shares = student.model(seen.inputs), self._log_shares[number]
            bare = self._prior.bare(logits.detach(), log_shares)
            self._memory[seen.index] += bare.softmax(1).to(self._memory)
            loss = seen.weighted(self._setup.loss(self._prior.trained(logits, log_shares), seen.labels)).mean()
            student.step(loss, self._epoch / self._length, len(batch) / len(self._given))
            losses.append(loss.detach())
        return {"loss": sum(losses) / len(losses), "weight": 1.0} if losses else {}

    def end_epoch(self) -> bool:
        """Judge the epoch, and return whether the look is over."""
        self._epoch += 1
        if 0 not in self.students:
            over = self._epoch > self.best
            self.members = len(self._averages) if over else 1
            return over
        over = self._epoch == self._length
        if len(self.judging):
            over = self._judged(self._epoch - 1, over)
        if not over:
            return False
        self.members = len(self.students)
        return not self._begin_other_folds()

    def _judged(self, epoch: int, last: bool) -> bool:
        """Whether training is past its best epoch, or the epoch is the last; if so, keep the best one."""
        judge, first = self.judge, max(0, round(LEAST * self._length) - 1)
        judge.add(self._unseen())
        averages = {number: copy.deepcopy(self._averages[number].state_dict()) for number in self.students}
        self._kept[epoch] = {"averages": averages, "memory": self._memory.clone()}
        best = judge.latest_of_the_best(epoch + 1, first, SLACK)
        fall, error = judge.compare(judge.around(best), judge.around(epoch))
        clear = fall > CERTAIN * error
        early = best < EARLY * self._length  # a late peak is trained to its end
        if not last and not (clear and early and epoch - best >= max(2, round(PATIENCE * self._length))):
            # the score of the latest epoch is not yet a mean of three; the others change no more
            settled = {judge.best(epoch, first), judge.latest_of_the_best(epoch, first, SLACK)} if epoch else set()
            self._kept = {number: state for number, state in self._kept.items() if number in settled | {epoch}}
            return False
        self.best = best if clear else epoch
        kept, self._kept = self._kept[self.best], {}
        for number, state in kept["averages"].items():
            self._averages[number].load_state_dict(state)
        self._memory = kept["memory"]
        return True

    def _unseen(self) -> Tensor:
        """Classes predicted for the judging samples by the networks that do not see them, shape (n,)."""
        found, fold = torch.empty_like(self.judging), self._fold[self.judging]
        for number in self.students:
            out = fold == number
            found[out] = self._setup.logits(self._averages[number].model, self.judging[out]).argmax(1)
        return found

    @property
    def early(self) -> bool:
        """Whether the look was best early, because it began to memorize."""
        return self.best < EARLY * self._length

    def _begin_other_folds(self) -> bool:
        """Train the other networks for as many epochs as were best for the first, if there is time."""
        folds, more = len(self._averages), self.best + 1
        work = (1 - 1 / folds) * (self._epoch + (folds - 1) * more)
        if (
            self.members > 1
            or len(self.judging) == 0
            or work > self._budget * self._length
            or self._epoch + more > self._epochs
        ):
            return False
        self._epoch = 0
        self.students = self._fresh()
        return True

    def _fresh(self) -> dict[int, Student]:
        assert self._setup.fresh is not None
        return {
            number: Student(*self._setup.fresh(), self._averages[number]) for number in range(1, len(self._averages))
        }

    def predictions(self) -> FirstPredictions:
        """Predictions for every sample by networks that have not memorized its label.

        The geometric mean of two predictions: the memory of the sample, which is the mean of what was predicted in its
        own training steps, and the prediction of the network that did not see it. If there is a single network, a
        sample has only one of the two.
        """
        memory = (self._memory / self._memory.sum(1, keepdim=True).clamp_min(TINY)).clamp_min(TINY).log().cpu()
        logs, unseen = memory.clone(), torch.zeros_like(memory)
        for number in range(self.members):
            out = (self._fold == number).nonzero().flatten()
            bare = self._prior.bare(self._setup.logits(self._averages[number].model, out), self._log_shares[number])
            unseen[out] = bare.softmax(1)
            logs[out] = (bare.log_softmax(1) + memory[out]) / 2 if self.members > 1 else bare.log_softmax(1)
        known = ((self._fold >= 0) & (self._fold < self.members)).nonzero().flatten()
        return FirstPredictions(logs.softmax(1), unseen, known)

    def consensus(self) -> Tensor:
        """Mean of the log-probabilities of all networks for all samples, as if all classes were equally frequent."""
        outputs = (self._setup.logits(self._averages[number].model) for number in range(self.members))
        bare = [self._prior.bare(its, shares) for its, shares in zip(outputs, self._log_shares, strict=False)]
        return torch.stack(bare).log_softmax(2).mean(0)

    def state_dict(self) -> dict[str, Any]:
        return {
            "right": self.judge.right,
            "best": self.best,
            "members": self.members,
            "memory": self._memory,
            "kept": self._kept,
            "epoch": self._epoch,
            "students": {number: student.state_dict() for number, student in self.students.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.judge.right, self._memory = state["right"], state["memory"].to(self._setup.device, copy=True)
        self.best, self.members, self._kept = state["best"], state["members"], dict(state["kept"])
        self._epoch = state["epoch"]
        if self.students.keys() != state["students"].keys():
            self.students = self._fresh()
        for number, student in self.students.items():
            student.load_state_dict(state["students"][number])

"""The second of two looks: learn what is likely right, and be compared with the first."""

from typing import Any

import torch
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.held_out_scores import HeldOutScores
from reweigh.methods.parts.prior import Prior
from reweigh.methods.parts.student import Student
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import AveragedModel, draw

REFRESH = (0.2, 0.4, 0.6, 0.8)  # of the look: when the targets move toward the average,
RATE = 0.3  # and how far
JOIN = 0.6  # of the look: when the held-out samples join
WORSE = 2.0  # standard errors by which the look must be worse than the first to be dropped


class SecondLook:
    """A network of its own learns soft targets, with mixup and prior correction.

    Attributes:
        gain: how much better than the first look it is by the judge, and the standard error of that.
        joined: whether held-out samples are trained on, which ends the comparison.
        dropped: whether the first look is clearly better.

    Args:
        average: EMA of the network.
        targets: shape (N, C), the posterior of the true class of each sample.
        held_out: shape (N,) bool, samples that judge the look until they join.
        first: shape (n,), how often the first look was right about each of them.
        mixup: strength of mixing samples in pairs; 0 mixes none.
        length: epochs.
    """

    def __init__(
        self,
        setup: Setup,
        prior: Prior,
        average: AveragedModel,
        targets: Tensor,
        held_out: Tensor,
        first: Tensor,
        *,
        mixup: float,
        length: int,
    ):
        assert setup.fresh is not None
        self._setup, self._prior, self._average, self._first = setup, prior, average, first
        self._mixup, self._length = mixup, length
        self._targets, self._held_out = targets, held_out
        self._judging = held_out.nonzero().flatten()
        self._judge = HeldOutScores(setup.train_set.labels[self._judging])
        self.student = Student(*setup.fresh(), average)
        self.gain, self.joined, self.dropped = (0.0, 0.0), False, False
        self._epoch = 0
        self._log_shares = prior.log_shares(targets[~held_out])

    @property
    def over(self) -> bool:
        """Whether there is nothing left to train."""
        return self.dropped or self._epoch == self._length

    def step(self, batch: Batch) -> list[float]:
        """Train on the samples that do not judge; the loss, if there are any."""
        seen = batch if self.joined else batch.where(~self._held_out.to(batch.index.device)[batch.index])
        if len(seen) < 2:  # BatchNorm cannot train on a single sample
            return []
        loss = self._loss(seen, self._targets[seen.index.cpu()].to(seen.inputs.device))
        self.student.step(loss, self._epoch / self._length, len(batch) / len(self._targets))
        return [loss.item()]

    def _loss(self, batch: Batch, targets: Tensor) -> Tensor:
        """The mean loss; of mixed samples, linear in the weights that the user gave to both."""
        if not self._mixup or not batch.inputs.is_floating_point():
            outputs = self._outputs(batch.inputs)
            return batch.weighted(self._setup.loss(outputs, targets.to(outputs))).mean()
        mix = draw(len(batch), self._mixup, self._setup.generator, batch.inputs.device)
        outputs, partner = self._outputs(mix.inputs(batch.inputs)), batch.where(mix.partner)
        own = batch.weighted(self._setup.loss(outputs, targets.to(outputs)))
        other = partner.weighted(self._setup.loss(outputs, targets[mix.partner].to(outputs)))
        return (mix.share * own + (1 - mix.share) * other).mean()

    def _outputs(self, inputs: Tensor) -> Tensor:
        return self._prior.trained(self.student.model(inputs), self._log_shares)

    def end_epoch(self) -> None:
        """Compare with the first look, and now and then move the targets; once, let held-out samples join."""
        self._epoch += 1
        if len(self._judging) and not self.joined:
            self._judge.add(self._setup.logits(self._average.model, self._judging))
            self.gain = self._judge.compare(self._judge.around(self._epoch - 1), self._first)
        gain, error = self.gain
        if (
            self._epoch in (round(share * self._length) for share in REFRESH) and gain >= -error
        ):  # else not yet a teacher
            own = self._prior.trained(self._setup.logits(self._average.model), self._log_shares).softmax(1)
            moved, checked = self._targets.lerp(own, RATE), self._setup.train_set.trusted
            self._targets = moved if checked is None else torch.where(checked[:, None], self._targets, moved)
            self._log_shares = self._prior.log_shares(self._targets if self.joined else self._targets[~self._held_out])
        if self._epoch == round(JOIN * self._length):
            self.joined, self.dropped = gain >= -WORSE * error, gain < -WORSE * error

    def predictions(self) -> Tensor:
        """Log-probabilities for every sample as if all classes were equally frequent, shape (N, C)."""
        return self._prior.bare(self._setup.logits(self._average.model), self._log_shares).log_softmax(1)

    def state_dict(self) -> dict[str, Any]:
        return {
            "right": self._judge.right,
            "gain": self.gain,
            "joined": self.joined,
            "dropped": self.dropped,
            "targets": self._targets,
            "log_shares": self._log_shares,
            "epoch": self._epoch,
            "student": self.student.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._judge.right, self._epoch = state["right"], state["epoch"]
        self.gain, self.joined, self.dropped = tuple(state["gain"]), state["joined"], state["dropped"]
        self._targets, self._log_shares = state["targets"], state["log_shares"]
        self.student.load_state_dict(state["student"])

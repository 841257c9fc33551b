"""The second of two looks: learn what is likely right, and how much to trust given labels."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.held_out_scores import HeldOutScores
from reweigh.core.objective import Forward, MetaObjective, mean_loss, mixed_soft_labels, reading, soft_labels
from reweigh.families import sizes_differ
from reweigh.issues.stock import TINY
from reweigh.methods.parts.labeled_batches import EndlessOrder
from reweigh.methods.parts.prior import Prior
from reweigh.methods.parts.student import Student
from reweigh.methods.parts.trusted import Trusted
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import AveragedModel, draw
from reweigh.reweighter import Reweighter
from reweigh.weighting import ClassAwareNet, load_weighting

REFRESH = (0.2, 0.4, 0.6, 0.8)  # shares of the look after which the targets move toward the EMA's predictions
RATE = 0.3  # how far they move
JOIN = 0.6  # share of the look after which it trains on the held-out samples too
WORSE = 2.0  # standard errors by which the look must be worse than the first to be dropped
JUDGED_AT_ONCE = 256  # held-out samples in a batch that the weights are learned on
FAMILIES = 3  # number of families if class sizes differ; the paper's K
EVERY = 5  # the weights are learned in every n-th step
DOUBTS = torch.cat([torch.linspace(0, 3, 400), torch.linspace(0, 14, 200)])  # where Bayes' rule is fitted
HARDLY = 0.05  # labels with less doubt than this are hardly doubted
READS = "doubt"


class Belief(NamedTuple):
    """Soft targets, split into two parts: targets = trust * given + (1 - trust) * other.

    Attributes:
        doubt: shape (n,), -log(trust), which the weight net reads.
        given: shape (n, C), the given label; if there are several, by how likely each is.
        other: shape (n, C), what the class is likely to be if the given label is wrong.
    """

    doubt: Tensor
    given: Tensor
    other: Tensor

    @classmethod
    def of(cls, targets: Tensor, given: Tensor, shares: Tensor) -> "Belief":
        """Split targets into trust, given and other.

        A weight is never exactly 1, and a few percent of a frequent class outnumber a rare class. So where a label is
        hardly doubted, a rarer class gets less of ``other``, in proportion to its size; the given label keeps the rest.

        Args:
            targets: shape (n, C), rows that sum to one.
            given: shape (n, C), rows that sum to one.
            shares: shape (C,), class shares.
        """
        trusted, rest = given * targets, (1 - given) * targets
        trust, left = trusted.sum(1, keepdim=True), rest.sum(1, keepdim=True)
        right = torch.where(trust > TINY, trusted / trust.clamp_min(TINY), given)
        other = torch.where(left > TINY, rest / left.clamp_min(TINY), targets)
        doubt = -trust.clamp_min(TINY).log()
        rarer = other * (shares / (right @ shares).unsqueeze(1).clamp_min(TINY)).clamp_max(1)
        fair = rarer + (1 - rarer.sum(1, keepdim=True)) * right
        return cls(doubt.squeeze(1), right, torch.lerp(other, fair, torch.exp(-doubt / HARDLY)))


def weighing(class_sizes: Tensor, meta_lr: float, weighting: str | None) -> dict[str, Any]:
    """How the look learns its weights: one curve for each family of classes, which starts as Bayes' rule.

    Args:
        meta_lr: learning rate of the weighting function; 0 keeps Bayes' rule.
        weighting: file of a weighting function that is used as it is.

    Returns:
        Options of the reweighter.
    """
    families = FAMILIES if sizes_differ(class_sizes) else 1
    if weighting:
        return {"families": families, "normalize": "mean", "weighting": load_weighting(weighting, reads=READS)[0]}
    families = min(families, len(class_sizes[class_sizes > 0].unique()))  # a family needs a size of its own
    net = ClassAwareNet.following(lambda doubt: torch.exp(-doubt), DOUBTS, families)
    rule = {"weight_net": net, "meta_lr": meta_lr} if meta_lr else {"weighting": net}
    return {"families": families, "normalize": "mean", "every": EVERY, **rule}


class SecondLook:
    """Trains a new network on soft targets with learned weights, mixup and prior correction.

    Attributes:
        gain: by how much the judge finds it better than the first look, and the standard error.
        joined: whether held-out samples are trained on now. They then no longer judge, or teach the weight net.
        dropped: whether the first look is clearly better.

    Args:
        average: EMA of the network.
        given: shape (N, C), the given labels as rows that sum to one.
        targets: shape (N, C), the posterior of the true class of each sample.
        likely: shape (N, C), probability of the given label of each sample for each true class.
        held_out: shape (N,) bool, samples that judge the look until they are trained on.
        trusted: samples that the user vouches for, on which the weights are learned; None learns them on the held-out
            samples.
        first: shape (n,), how often the first look was right about each held-out sample.
        mixup: strength of mixing samples in pairs; 0 mixes none.
        length: number of epochs.
        options: options of the reweighter.
    """

    def __init__(
        self,
        setup: Setup,
        prior: Prior,
        average: AveragedModel,
        given: Tensor,
        targets: Tensor,
        likely: Tensor,
        held_out: Tensor,
        trusted: Trusted | None,
        first: Tensor,
        *,
        mixup: float,
        length: int,
        options: dict[str, Any],
    ):
        assert setup.fresh is not None
        self._setup, self._prior, self._average, self._first = setup, prior, average, first
        self._mixup, self._length = mixup, length
        self._given, self._targets, self._likely, self._held_out = given, targets, likely, held_out
        self._judging = held_out.nonzero().flatten()
        self._judge = HeldOutScores(setup.train_set.labels[self._judging])
        checked = setup.train_set.trusted
        lessons = held_out if checked is None else held_out | checked
        self._trusted, self._lessons = trusted, EndlessOrder(lessons.nonzero().flatten(), setup.generator)
        self.student = Student(*setup.fresh(), average)
        self.reweighter = Reweighter(
            self.student.model, self.student.optimizer, given.argmax(1), num_classes=given.shape[1], **options
        )
        if not trusted and not len(self._lessons.pool):
            self.reweighter.freeze()
        self.gain, self.joined, self.dropped = (0.0, 0.0), False, False
        self._epoch = 0
        self._log_shares = prior.log_shares(targets[~held_out])

    @property
    def over(self) -> bool:
        """Whether there is nothing left to train."""
        return self.dropped or self._epoch == self._length

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        """Train on the samples that do not judge.

            minimize  sum_i  v_i L(f_i, given_i) + (1 - v_i) L(f_i, other_i),        v_i = V(doubt_i, family_i)

        The weights start as the trust that Bayes' rule gives, exp(-doubt); then this is the loss of the targets.

        Returns:
            Numbers to log; empty if there are no such samples.
        """
        seen = batch if self.joined else batch.where(~self._held_out[batch.index])
        if len(seen) < 2:  # BatchNorm cannot train on a single sample
            return {}
        index, device = seen.index, seen.inputs.device
        belief = Belief.of(self._targets[index], self._given[index], self._log_shares.exp())
        doubt, given, other = (each.to(device) for each in belief)
        classes = given.argmax(1)
        if self._mixup and seen.inputs.is_floating_point():
            mix = draw(len(seen), self._mixup, self._setup.generator, device)
            objective = mixed_soft_labels(self._loss, seen.inputs, given, other, mix.partner, mix.share, seen.scale)
            doubt, classes = (torch.cat([each, each[mix.partner]]) for each in (doubt, classes))
        else:
            objective = soft_labels(self._loss, seen.inputs, given, other, seen.scale)
        self.student.slow_down(self._epoch / self._length)
        step = self.reweighter.step_on(reading(objective, doubt), classes, meta=self._lesson())
        self.student.follow(len(batch) / len(self._targets))
        return step.scalars()

    def _loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        labels = labels.to(outputs) if labels.is_floating_point() else labels
        return self._setup.loss(self._prior.trained(outputs, self._log_shares), labels)

    def _lesson(self) -> MetaObjective | None:
        """What the weights should lower: the loss of trusted samples, or how badly held-out labels are explained.

            - mean_i  log sum_k  T(y_i | k) p_i(k)

        Held-out labels may be wrong. But a network explains them best through the confusion T if it knows the true
        classes. And since the network does not train on them, it cannot have memorized them.
        """
        if not self.reweighter.due:
            return None
        if self._trusted:
            return mean_loss(self._loss, *self._trusted.next(JUDGED_AT_ONCE))
        some = self._lessons.next(min(JUDGED_AT_ONCE, len(self._lessons.pool)))
        batch = self._setup.train_set.batch(some, device=self._setup.device)
        likely = self._likely[some].to(batch.inputs.device)

        def unexplained(forward: Forward) -> Tensor:
            classes = self._prior.trained(forward(batch.inputs), self._log_shares).softmax(1)
            return batch.weighted(-(classes * likely).sum(1).clamp_min(TINY).log()).mean()

        return unexplained

    def end_epoch(self) -> None:
        """Compare with the first look; after some epochs, move the targets, or begin to train on held-out samples."""
        self._epoch += 1
        if len(self._judging) and not self.joined:
            self._judge.add(self._setup.logits(self._average.model, self._judging).argmax(1))
            self.gain = self._judge.compare(self._judge.around(self._epoch - 1), self._first)
        gain, error = self.gain
        if (
            self._epoch in (round(share * self._length) for share in REFRESH) and gain >= -error
        ):  # a network that is worse than the first look should not teach
            own = self._prior.trained(self._setup.logits(self._average.model), self._log_shares).softmax(1)
            moved, checked = self._targets.lerp(own, RATE), self._setup.train_set.trusted
            self._targets = moved if checked is None else torch.where(checked[:, None], self._targets, moved)
            self._log_shares = self._prior.log_shares(self._targets if self.joined else self._targets[~self._held_out])
        if self._epoch == round(JOIN * self._length):
            self.joined, self.dropped = gain >= -WORSE * error, gain < -WORSE * error
            self._end_lessons()

    def _end_lessons(self) -> None:
        if not self._trusted:  # held-out labels teach nothing once they are trained on
            self.reweighter.freeze()

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
            "reweighter": self.reweighter.state_dict(),
            "lessons": (self._trusted or self._lessons).state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._judge.right, self._epoch = state["right"], state["epoch"]
        self.gain, self.joined, self.dropped = tuple(state["gain"]), state["joined"], state["dropped"]
        self._targets, self._log_shares = state["targets"], state["log_shares"]
        self.student.load_state_dict(state["student"])
        self.reweighter.load_state_dict(state["reweighter"])
        (self._trusted or self._lessons).load_state_dict(state["lessons"])
        if self.joined:
            self._end_lessons()

"""Two looks: learn early, take stock of the labels, learn again."""

import logging
from collections.abc import Mapping
from typing import Annotated, Any

import torch
from annotated_types import Ge
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.method import Method
from reweigh.families import Families, sizes_differ
from reweigh.issues.stock import TINY, Stock
from reweigh.issues.verdict import Finding, Verdict, least_believed
from reweigh.methods.parts.finding import Count, sentence
from reweigh.methods.parts.first_look import FirstLook, FirstPredictions
from reweigh.methods.parts.folds import held_out_in_turn
from reweigh.methods.parts.labels import Labels
from reweigh.methods.parts.prior import Prior
from reweigh.methods.parts.second_look import READS, SecondLook, weighing
from reweigh.methods.parts.student import Student
from reweigh.methods.parts.trusted import Trusted
from reweigh.methods.setup import Setup
from reweigh.models.ensemble import Ensemble
from reweigh.pseudo_labels import AveragedModel

log = logging.getLogger(__name__)

FOLDS = 4
FIRST = 1.3  # work of the first look, all folds together, in trainings of full length
SECOND = 0.6  # length of the second look, in trainings of full length
SMALL = 2000  # samples at most for which all folds are trained at any cost
SLIGHT = 0.05  # share of wrong labels below which correcting them costs more than it gains
SHORTEST = 4  # epochs; a shorter training cannot be judged
JUDGING = (2, 5)  # two of five samples of the judging fold are held out of the second look too


class TwoLooks(Method):
    """Train until wrong labels would be memorized, find them, and train again on the labels that are likely right.

    The same settings serve for wrong labels, rare classes, or both. No sample is dropped: if a label is likely wrong,
    the network learns the likelier classes in its place. f are the logits of a network, y the given labels.

    First look: each class is divided into four folds. A network is trained on three of them, with prior correction,

        minimize  L(f(x_i) + log share, y_i)            share: shares of the given classes

    and the fourth judges it: after each epoch, the judge measures the class-balanced accuracy of the network's EMA on
    the given labels of this fold. Training stops when the accuracy has clearly fallen, because wrong labels are then
    being memorized, and the best epoch is kept. If that epoch came early, three more networks are trained for as many
    epochs, each without another fold. (With at most 2,000 samples, all four networks are trained side by side and all
    folds judge: one fold would be too small to judge well, and training is cheap.)

    Taking stock: q_i, the prediction for a sample, is the geometric mean of two: its memory, which is the mean of what
    was predicted in its own training steps; and the prediction of the network that was trained without it. The
    confident joint gives the confusion T and the true class shares; if a class is rare, they also come from held-out
    predictions, by expectation maximization. Bayes' rule then gives the posterior of the true class of each sample:

        posterior_i(k)  ~  q_i(k)^(1 / temperature)  prior(k)  T(y_i | k)

    Second look: a fresh network learns the given label as far as it is trusted, and the likelier classes for the rest:

        minimize  v_i L(f(x_i) + log share, y_i) + (1 - v_i) L(f(x_i) + log share, other_i)

    other_i is the posterior if the given label is wrong (the paper's soft labels, Eq. 14); samples are mixed in pairs
    (mixup). The weight v_i = V(doubt_i, family_i) is a learned function of the doubt, -log posterior_i(y_i), and of the
    family of the class. It starts as exp(-doubt), which is Bayes' rule, and is learned by look-ahead steps as in
    CMW-Net: on samples that you vouch for (a meta set ``clean`` or ``given``); otherwise on held-out labels, seen
    through the confusion, and on labels that a person has checked. If fewer than 5 % of the labels seem wrong, the
    posteriors start as the given labels. Four times during the look, they move toward what the EMA of the network
    predicts. (If the first look was best late, it did not memorize; the second then continues from it, without mixup.)

    Result: the judge compares both looks on samples that neither was trained on; then the second look trains on these
    too. The model averages the probabilities of both looks. It is the second look alone if the first has a single
    network, and the first look alone if the second is clearly worse. The same networks then take stock once more: as
    many labels are flagged as are estimated to be wrong, those with the lowest posterior.

    ``train.epochs`` counts the epochs of both looks together: set it to 1.9 times the epochs of a single training. The
    training often ends sooner. In each look, the learning rate falls along half a cosine, whatever the schedule, and
    there is no warm-up. With fewer than 4 epochs, or if no class has 4 samples, there is one look and no judge.

    The confident joint is from Northcutt, Jiang, Chuang: Confident Learning (JAIR 2021); anchors, from which the
    confusion is learned, from Patrini et al.: Making deep neural networks robust to label noise (CVPR 2017); prior
    correction from Menon et al.: Long-tail learning via logit adjustment (ICLR 2021); memory from Laine, Aila: Temporal
    Ensembling (ICLR 2017); mixup from Zhang et al. (ICLR 2018). Networks learn right labels first: Liu et al.,
    Early-Learning Regularization (NeurIPS 2020).

    Args:
        prior: whether to correct for class shares: rare classes count as much as frequent ones (balanced accuracy).
        mixup: strength of mixing samples in pairs in the second look; 0 mixes none.
        meta_lr: learning rate of the weighting function; 0 keeps Bayes' rule.
        weighting: file of a weighting function that ``two-looks`` learned elsewhere, used as it is.
    """

    own_judge = True
    reads = READS

    def __init__(
        self,
        setup: Setup,
        *,
        prior: bool = True,
        mixup: Annotated[float, Ge(0)] = 1.0,
        meta_lr: Annotated[float, Ge(0)] = 3e-3,
        weighting: str | None = None,
    ):
        self._setup, self._prior, self._mixup = setup, Prior(prior), mixup
        self._weighing = weighing(setup.train_set.class_sizes, meta_lr, weighting)
        self._trusted = Trusted(setup) if setup.meta_set.vouched else None
        if self._trusted:
            self._trusted.refresh()
        vouched = self._trusted.chosen if self._trusted and setup.clean_set is None else None
        self._labels = Labels(setup.train_set, vouched)
        self._given = self._labels.given
        self._averages = [AveragedModel(setup.model) for _ in range(FOLDS + 1)]  # the last is the second look's
        self._ensemble = Ensemble([average.model for average in self._averages])
        self._length = max(1, round(setup.epochs / (FIRST + SECOND)))
        self._second_length = min(round(SECOND * self._length), setup.epochs - self._length)
        self._fold, self._held_out = held_out_in_turn(setup.train_set.labels, FOLDS, JUDGING, setup.generator)
        if setup.epochs < SHORTEST:
            self._fold, self._held_out = torch.full_like(self._fold, -1), torch.zeros_like(self._held_out)
        if not bool((self._fold >= 0).any()):
            log.info("two looks: too few epochs or samples to hold any out; one look, without a judge")
            self._length, self._second_length = setup.epochs, 0
        self._first = self._new_first()
        self._second: SecondLook | None = None
        self._stock: Stock | None = None
        self._count: Count | None = None

    def _new_first(self) -> FirstLook:
        return FirstLook(
            self._setup,
            self._prior,
            self._given,
            self._fold,
            self._averages[:FOLDS],
            length=self._length,
            epochs=self._setup.epochs - self._second_length,
            budget=FIRST,
            together=self._length < self._setup.epochs and len(self._given) <= SMALL,
        )

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return Ensemble.of(model, FOLDS + 1)

    @property
    def model(self) -> nn.Module:
        return self._ensemble

    @property
    def finished(self) -> bool:
        return self._count is not None

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        for student in self._students:
            student.model.train()

    @property
    def _students(self) -> list[Student]:
        return [self._second.student] if self._second else list(self._first.students.values())

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        numbers = {} if self.finished else (self._second or self._first).step(batch)
        if not numbers:  # nothing to train on here
            return {"loss": self._loss(batch)}
        self._setup.optimizer.param_groups[0]["lr"] = self._students[0].rate  # what the loop writes down
        return numbers

    @torch.no_grad()
    def _loss(self, batch: Batch) -> Tensor:
        return batch.weighted(self._setup.loss(self._ensemble.eval()(batch.inputs), batch.labels)).mean()

    def end_epoch(self) -> None:
        if self.finished:
            return
        if self._second is None:
            if self._first.end_epoch():
                self._take_first_stock()
            return
        self._second.end_epoch()
        if self._second.joined:
            self._share()
        if self._second.over:
            self._take_last_stock(self._second)

    def _share(self) -> None:
        """The second look counts, and if the first has several networks, these together count as much."""
        members = self._first.members
        half = 0.5 if members > 1 else 0.0
        self._ensemble.share([half / members] * members + [0.0] * (FOLDS - members) + [1 - half])

    def _take_first_stock(self) -> None:
        """Judge the labels by the first look, and begin the second."""
        found = self._first.predictions()
        self._stock, count = self._judged(found, found.best, found.best.clamp_min(TINY).log())
        self._ensemble.share([1 / self._first.members] * self._first.members)
        if self._second_length == 0:
            self._count = count
            return
        if count.in_all(self._given)[0] < SLIGHT and bool((self._given.amax(1) == 1).all()):
            self._stock = self._stock._replace(posterior=self._given)
        self._second = self._new_second(self._stock)
        if not self._first.early:
            self._second.student.model.load_state_dict(self._averages[0].model.state_dict())

    def _new_second(self, stock: Stock) -> SecondLook:
        first = self._first.judge.around(self._first.best)[self._held_out[self._first.judging]]
        return SecondLook(
            self._setup,
            self._prior,
            self._averages[-1],
            self._given,
            stock.posterior,
            self._labels.likely(stock.transition),
            self._held_out,
            self._trusted,
            first,
            mixup=self._mixup if self._first.early else 0.0,
            length=self._second_length,
            options=self._weighing,
        )

    def _take_last_stock(self, second: SecondLook) -> None:
        """Judge the labels by both looks, and count those that are wrong."""
        assert self._stock is not None
        found, latest, alone = self._first.predictions(), second.predictions(), self._first.members == 1
        first = found.best.clamp_min(TINY).log() / self._stock.temperature
        if not alone:
            first = (first + self._first.consensus()) / 2
        # as in the model: a single network of the first look, trained for long, no longer counts
        logs = first if second.dropped else latest if alone else (first + latest) / 2
        self._stock, self._count = self._judged(found, logs.softmax(1), latest)

    def _judged(self, first: FirstPredictions, predictions: Tensor, latest: Tensor) -> tuple[Stock, Count]:
        weak = self._first.members == 1 or sizes_differ(self._setup.train_set.class_sizes)
        return self._labels.judged(first, predictions, latest, weak and self._second_length > 0)

    def sample_weights(self) -> Tensor:
        if self._stock is None:
            return torch.full((len(self._given),), torch.nan)
        believed = self._believed(self._stock)
        if self._second is None:
            return believed
        doubt, classes = -believed.clamp_min(TINY).log(), self._given.argmax(1)
        return self._second.reweighter.weigh(*(each.to(self._setup.device) for each in (doubt, classes))).cpu()

    def weighting(self) -> nn.Module | None:
        return self._second.reweighter.weight_net if self._second else None

    def families(self) -> Families | None:
        return self._second.reweighter.families if self._second else None

    def _believed(self, stock: Stock) -> Tensor:
        """The posterior of the given label of each sample, shape (N,)."""
        return (self._given * stock.posterior).sum(1)

    def judgment(self) -> Verdict | None:
        """As many labels as are estimated to be wrong look wrong, those of least quality, and as many are doubted."""
        if self._stock is None or self._count is None:
            return None
        given, share = self._setup.train_set.labels, self._count.in_all(self._given)[0]
        return least_believed(self._believed(self._stock), self._stock.posterior, given, share)

    def finding(self) -> Finding | None:
        if self._stock is None or self._count is None:
            return None
        names = self._setup.train_set.class_names
        gain, dropped = (self._second.gain, self._second.dropped) if self._second else (None, False)
        words = sentence(self._count, self._given, self._stock.joint, names, gain, dropped)
        return Finding(self._count.share.tolist(), self._count.low.tolist(), self._count.high.tolist(), words)

    def apart(self) -> tuple[Tensor, Tensor, Tensor] | None:
        found = self._first.predictions()
        if self._stock is None or not len(found.known):
            return None
        bare = found.unseen[found.known].clamp_min(TINY).log()
        logits = bare if self._prior.corrects else bare + self._prior.log_shares(self._given)
        return found.known, logits, self._stock.joint

    def state_dict(self) -> dict[str, Any]:
        return {
            "fold": self._fold,
            "held_out": self._held_out,
            "averages": [average.state_dict() for average in self._averages],
            "shares": self._ensemble.shares.tolist(),
            "first": self._first.state_dict(),
            "second": self._second.state_dict() if self._second else None,
            "stock": self._stock,
            "count": self._count,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._fold, self._held_out = state["fold"], state["held_out"]
        for average, its in zip(self._averages, state["averages"], strict=True):
            average.load_state_dict(its)
        self._ensemble.share(state["shares"])
        self._first = self._new_first()
        self._first.load_state_dict(state["first"])
        self._stock = Stock(*state["stock"]) if state["stock"] else None
        self._count = Count(*state["count"]) if state["count"] else None
        self._second = None
        if state["second"] is not None:
            assert self._stock is not None
            self._second = self._new_second(self._stock)
            self._second.load_state_dict(state["second"])

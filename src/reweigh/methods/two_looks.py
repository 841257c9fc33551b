"""The second of two looks: learn what is likely right, and how much to trust given labels."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import torch
from annotated_types import Ge
from torch import Tensor, nn

from reweigh.core.method import Method, Stateful
from reweigh.core.objective import Batch, Forward, MetaObjective, mean_loss, mixed_soft_labels, reading, soft_labels
from reweigh.core.shards import shard_like
from reweigh.families import Families, sizes_differ
from reweigh.issues.stock import TINY, label_rows
from reweigh.losses.class_sizes import log_shares, prior_corrected
from reweigh.methods.parts.batches import EndlessOrder, Trusted
from reweigh.methods.setup import Again, Setup
from reweigh.models.ensemble import Each, Ensemble
from reweigh.pseudo_labels import draw
from reweigh.reweighter import Reweighter
from reweigh.weighting import ClassAwareNet, load_weighting

LESSON_SIZE = 256  # held-out samples in a batch that the weights are learned on
MAX_FAMILIES = 3  # if class sizes differ; the paper's K
BAYES_DOUBTS = torch.cat([torch.linspace(0, 3, 400), torch.linspace(0, 14, 200)])  # where Bayes' rule is fitted
SLIGHT_DOUBT = 0.05  # labels with less doubt than this are hardly doubted
READS = "doubt"


class Belief(NamedTuple):
    """Soft targets, split into two parts: targets = trust * given + (1 - trust) * other.

    Attributes:
        doubt: Shape (n,), -log(trust), which the weight net reads.
        given: Shape (n, C), the given label; if there are several, by how likely each is.
        other: Shape (n, C), what the class is likely to be if the given label is wrong.
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
            targets: Shape (n, C), rows that sum to one.
            given: Shape (n, C), rows that sum to one.
            shares: Shape (C,), class shares.
        """
        trusted, rest = given * targets, (1 - given) * targets
        trust, left = trusted.sum(1, keepdim=True), rest.sum(1, keepdim=True)
        right = torch.where(trust > TINY, trusted / trust.clamp_min(TINY), given)
        other = torch.where(left > TINY, rest / left.clamp_min(TINY), targets)
        doubt = -trust.clamp_min(TINY).log()
        rarer = other * (shares / (right @ shares).unsqueeze(1).clamp_min(TINY)).clamp_max(1)
        fair = rarer + (1 - rarer.sum(1, keepdim=True)) * right
        return cls(doubt.squeeze(1), right, torch.lerp(other, fair, torch.exp(-doubt / SLIGHT_DOUBT)))


@dataclass(eq=False, repr=False)
class TwoLooks(Stateful, Method):
    """Train until wrong labels would be memorized, find them, and train again on the labels that are likely right.

    The same settings serve for wrong labels, rare classes, or both. No sample is dropped: if a label is likely wrong,
    the network learns the likelier classes in its place. f are the logits of a network, y the given labels.

    First look (``reweigh.looks``): plain training with prior correction. Each class is divided into four folds
    (``train.judge`` is the share of one), and a network is trained without the fold that judges it. Training stops when
    the accuracy on the given labels of that fold has clearly fallen, because wrong labels are then being memorized, and
    the best epoch is kept. Then three more networks are trained for as many epochs, each without another fold, unless
    that takes too long. (With at most 2,000 samples, all four are trained side by side, and all folds judge.)

    Taking stock (``reweigh.issues``): q_i, the prediction for a sample, is the geometric mean of two: its memory, which
    is the mean of what was predicted in its own training steps; and the prediction of the network that was trained
    without it. The confident joint gives the confusion T and the true class shares; if a class is rare, they also come
    from held-out predictions, by expectation maximization. Bayes' rule then gives the posterior of the true class:

        posterior_i(k)  ~  q_i(k)^(1 / temperature)  prior(k)  T(y_i | k)

    Labels are ranked by ``credibility``, which believes only half of what T says about directions.

    Second look, this method: fresh networks learn the given label as far as it is trusted, and the likelier classes for
    the rest:

        minimize  v_i L(f(x_i) + log share, y_i) + (1 - v_i) L(f(x_i) + log share, other_i)

    other_i is the posterior if the given label is wrong (the paper's soft labels, Eq. 14); samples are mixed in pairs
    (mixup). The weight v_i = V(doubt_i, family_i) is a learned function of the doubt, -log posterior_i(y_i), and of the
    family of the class. It starts as exp(-doubt), which is Bayes' rule, and is learned by look-ahead steps as in
    CMW-Net: on samples that you vouch for (a meta set ``clean``); otherwise on held-out labels, seen
    through the confusion, and on labels that a person has checked. If fewer than 5 % of the labels seem wrong, the
    posteriors are the given labels. (If the first look was best late, it did not memorize; the second then continues
    from it, without mixup.)

    Result: the model averages the probabilities of both looks. It is the second look alone if the first has a single
    network, and the first look alone if the second is clearly worse on samples that neither was trained on. The same
    networks then take stock once more.

    ``train.epochs`` is the length of a full training; the second look has 0.6 times as many. With fewer than 4 epochs,
    or if no class has enough samples to hold any out, there is one look and no judge.

    The confident joint is from Northcutt, Jiang, Chuang: Confident Learning (JAIR 2021); anchors, from which the
    confusion is learned, from Patrini et al.: Making deep neural networks robust to label noise (CVPR 2017); prior
    correction from Menon et al.: Long-tail learning via logit adjustment (ICLR 2021); memory from Laine, Aila: Temporal
    Ensembling (ICLR 2017); mixup from Zhang et al. (ICLR 2018). Networks learn right labels first: Liu et al.,
    Early-Learning Regularization (NeurIPS 2020).

    Args:
        mixup: Strength of mixing samples in pairs in the second look; 0 mixes none.
        meta_lr: Learning rate of the weighting function; 0 keeps Bayes' rule.
        meta_every: The weighting function is learned in every n-th step.
        weighting: File of a weighting function that ``two-looks`` learned elsewhere, used as it is.
        beside: What looks beside the networks: "boosted-trees", for rows of a table; "linear", which is logistic
            regression, for columns of text; "boosted-trees+linear", for tables of few rows; "own", a classifier of the
            user's, in Python; or "none". The model is a mixture, in which held-out labels choose the share of each.
        only: Whether the model is only what looks beside the networks, which then learn the weights.
    """

    train_defaults: ClassVar = {"judge": 0.25, "prior": True, "looks": 1}
    state = ("_model", "_optimizer", "_reweighter", "_lessons", "_warm_up")

    setup: Setup
    _: KW_ONLY
    mixup: Annotated[float, Ge(0)] = 1.0
    meta_lr: Annotated[float, Ge(0)] = 3e-3
    meta_every: Annotated[int, Ge(1)] = 5
    weighting: str | None = None
    beside: Literal["none", "boosted-trees", "linear", "boosted-trees+linear", "own"] = "none"
    only: bool = False

    def __post_init__(self) -> None:
        setup, self._again = self.setup, self.setup.again or Again.of(self.setup.train_set)
        self._mixup = self.mixup if self._again.mixes else 0.0
        self._model: Any = setup.model if hasattr(setup.model, "each") else Ensemble([setup.model])
        self._optimizer, fold = setup.optimizer, self._again.fold
        members = range(len(self._model.shares))
        self._seen = torch.stack([fold != number for number in members], 1)  # which sample is seen by which network
        self._log_shares = log_shares(self._again.targets[self._seen.any(1)].sum(0))
        self._loss = prior_corrected(setup.bare_loss, self._log_shares.exp()) if setup.prior else setup.bare_loss
        sizes = setup.train_set.class_sizes
        self._reweighter = Reweighter(
            shard_like(Each(self._model), setup.model),
            setup.optimizer,
            self._again.given.argmax(1),
            num_classes=setup.train_set.num_classes,
            **weighing(sizes, self.meta_lr, self.meta_every, self.weighting),
        )
        self._lessons = self._trusted() if setup.meta_set.vouched else self._held_out()
        self._learns = self._reweighter.weights.learns and self._lessons is not None
        self._begin(warm_up=False)

    def _trusted(self) -> Trusted:
        trusted = Trusted(self.setup)
        trusted.refresh()
        return trusted

    def _held_out(self) -> EndlessOrder | None:
        held_out, checked = self._again.fold >= 0, self.setup.train_set.trusted
        pool = (held_out if checked is None else held_out | checked).nonzero().flatten()
        return EndlessOrder(pool, self.setup.generator) if len(pool) else None

    @property
    def model(self) -> nn.Module:
        return self._model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        self._begin(warm_up)

    def _begin(self, warm_up: bool) -> None:
        self._model.train()
        self._warm_up = warm_up
        self._reweighter.weights.learns = self._learns and not warm_up

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        """Train every network on the samples that it may see.

            minimize  sum_i  v_i L(f_i, given_i) + (1 - v_i) L(f_i, other_i),        v_i = V(doubt_i, family_i)

        The weights start as the trust that Bayes' rule gives, exp(-doubt); then this is the loss of the targets.
        """
        visible = batch.where(self._seen[batch.index].any(1))
        if len(visible) < 2:  # BatchNorm cannot train on a single sample
            with torch.no_grad():
                return {"loss": self.setup.loss(self._model(batch.inputs), batch.labels).mean()}
        index, device = visible.index, visible.inputs.device
        belief = Belief.of(self._again.targets[index], self._again.given[index], self._log_shares.exp())
        doubt, given, other = (each.to(device) for each in belief)
        classes, counts = given.argmax(1), self._seen[index]
        if self._mixup and visible.inputs.is_floating_point():
            mix = draw(len(visible), self._mixup, self.setup.generator, device)
            partner = mix.partner.cpu()
            loss = self._by_members(counts & counts[partner], device)
            objective = mixed_soft_labels(loss, visible.inputs, given, other, mix.partner, mix.share, visible.scale)
            doubt, classes = (torch.cat([each, each[mix.partner]]) for each in (doubt, classes))
        else:
            loss = self._by_members(counts, device)
            objective = soft_labels(loss, visible.inputs, given, other, visible.scale)
        step = self._reweighter.step_on(reading(objective, doubt), classes, meta=self._lesson())
        return step.scalars()

    def _by_members(self, counts: Tensor, device: torch.device) -> Any:
        """The loss of each sample, summed over the networks for which it counts.

        Args:
            counts: Shape (n, members) bool. Losses are scaled so that every network minimizes a mean over its samples.
        """
        share = (counts / counts.float().mean(0).clamp_min(TINY)).to(device)

        def loss(outputs: Tensor, labels: Tensor) -> Tensor:
            repeated = labels[:, None].expand(-1, outputs.shape[1], -1).flatten(0, 1).to(outputs)
            each = self._loss(outputs.flatten(0, 1), repeated).view(-1, *share.shape)  # for several labels of each
            return (each * share).sum(2).flatten()

        return loss

    def _lesson(self) -> MetaObjective | None:
        """What the weights should lower: the loss of trusted samples, or how badly held-out labels are explained.

            - mean_i  log sum_k  T(y_i | k) p_i(k)

        Held-out labels may be wrong. But a network explains them best through the confusion T if it knows the true
        classes. And since the network that predicts them does not train on them, it cannot have memorized them.
        """
        if not self._reweighter.due or self._lessons is None:
            return None
        if isinstance(self._lessons, Trusted):
            inputs, labels = self._lessons.next(LESSON_SIZE)
            everywhere = torch.ones(len(labels), self._seen.shape[1])
            rows = labels if labels.dim() == 2 else label_rows(labels, self._again.given.shape[1])
            return mean_loss(self._by_members(everywhere, inputs.device), inputs, rows.to(inputs.device))
        some = self._lessons.next(min(LESSON_SIZE, len(self._lessons.pool)))
        batch = self.setup.train_set.batch(some, device=self.setup.device)
        likely, member = (rows[some].to(batch.inputs.device) for rows in (self._again.likely, self._again.fold))
        shares = self._log_shares.to(batch.inputs.device)

        def unexplained(forward: Forward) -> Tensor:
            logits = forward(batch.inputs)[torch.arange(len(some)), member.clamp_min(0)]
            classes = (logits + shares if self.setup.prior else logits).softmax(1)
            return batch.weighted(-(classes * likely).sum(1).clamp_min(TINY).log()).mean()

        return unexplained

    def sample_weights(self) -> Tensor:
        believed = (self._again.given * self._again.targets).sum(1)
        doubt, classes = -believed.clamp_min(TINY).log(), self._again.given.argmax(1)
        return self._reweighter.weigh(*(each.to(self.setup.device) for each in (doubt, classes))).cpu()

    def weight_net(self) -> nn.Module | None:
        return self._reweighter.weight_net

    def families(self) -> Families | None:
        return self._reweighter.families

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._begin(self._warm_up)


def weighing(class_sizes: Tensor, meta_lr: float, every: int, weighting: str | None) -> dict[str, Any]:
    """How the look learns its weights: one curve for each family of classes, which starts as Bayes' rule.

    Args:
        meta_lr: Learning rate of the weighting function; 0 keeps Bayes' rule.
        every: It is learned in every n-th step.
        weighting: File of a weighting function that is used as it is.

    Returns:
        Options of the reweighter.
    """
    families = MAX_FAMILIES if sizes_differ(class_sizes) else 1
    if weighting:
        return {"families": families, "normalize": "mean", "weighting": load_weighting(weighting, reads=READS)[0]}
    families = min(families, len(class_sizes[class_sizes > 0].unique()))  # a family needs a size of its own
    net = ClassAwareNet.following(lambda doubt: torch.exp(-doubt), BAYES_DOUBTS, families)
    rule = {"weight_net": net, "meta_lr": meta_lr} if meta_lr else {"weighting": net}
    return {"families": families, "normalize": "mean", "every": every, "lookahead": "real", **rule}

"""How credible each label is, by training itself or by models that did not see it; and which samples are held out."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.bias.biased import stream
from reweigh.core.candidates import CandidateSets
from reweigh.data import Dataset
from reweigh.data.splits import stratified, stratified_folds
from reweigh.errors import DataError
from reweigh.fit.scored import Scored, scored
from reweigh.fit.trainer import Trained, Trainer
from reweigh.fit.weighting import Weighting
from reweigh.issues import Finding, Rows, Samples, Verdict, chunks, verdict_by_posterior, verdict_of, verdict_unseen
from reweigh.issues.count import direction, suggestions
from reweigh.issues.stock import label_rows, take_stock_unseen
from reweigh.names import listed
from reweigh.plan import Part, Plan
from reweigh.plan.choose import MAX_POSTERIORS
from reweigh.pseudo_labels import predictions
from reweigh.training.predictions import logits
from reweigh.training.randomness import seeded

logger = logging.getLogger(__name__)
NUM_FOLDS = 5
NUM_ROUNDS = 3
MIN_PATIENCE_EPOCHS = 5
PLAIN_TRAINING = Part("methods", "erm", {})


def out_of_fold(trainer: Trainer, train_set: Dataset) -> tuple[Tensor, Tensor]:
    """Predict samples by models that were trained without them.

    Models are trained plainly, with prior correction, and briefly: for as many epochs as predict the given labels of a
    held-out fifth best, which needs no true label; beyond that they memorize wrong ones. Five of them leave out a fifth
    of every class each, three times over; their predictions along training are averaged.

    Returns:
        The indices of the samples that were held out, shape (n,): all but the only sample of a class and those without
        a label. And their predictions as if all classes were equally frequent, shape (n, num_classes).
    """
    train = {**trainer.plan.train, "looks": 0, "prior": True, "checkpoint_steps": None}
    plain = replace(trainer, plan=replace(trainer.plan, method=PLAIN_TRAINING, train=train))
    seed = train["seed"]
    index = (folds(train_set.labels, seed, train_set.groups) >= 0).nonzero().flatten()
    if len(index) == 0:
        return index, torch.empty(0, train_set.num_classes)
    epochs = brief_epochs(plain, train_set)
    logger.info("out-of-fold predictions: %d models, trained for %d epochs each", NUM_ROUNDS * NUM_FOLDS, epochs)
    rows = torch.zeros(len(train_set), train_set.num_classes, dtype=torch.float64)
    for number in range(NUM_ROUNDS):
        fold = folds(train_set.labels, seed + number, train_set.groups)
        again = _changed(plain, epochs=epochs, warmup_epochs=0, seed=seed + number)
        for out in (fold == which for which in range(NUM_FOLDS)):
            if out.any():
                rows[out] += held_out(again, train_set, out).predicted / NUM_ROUNDS
    return index, rows[index].float()


def brief_epochs(trainer: Trainer, train_set: Dataset) -> int:
    """After how many epochs the given labels of a held-out fifth are predicted best."""
    fold = folds(train_set.labels, trainer.plan.train["seed"], train_set.groups)
    return held_out(trainer, train_set, fold == fold[fold >= 0].mode().values, stop=True).best_epoch


class SeenEnoughError(Exception):
    """Raised by a look, to end a training whose further epochs are of no use."""


class HeldOut:
    """Looks at samples at the end of every epoch of a training that does not see them.

    Attributes:
        losses: The mean loss of the given labels after each epoch.

    Args:
        stop: Raise ``SeenEnoughError`` when the best epoch is as long ago as it took, and at least a few epochs.
    """

    def __init__(self, samples: Dataset, device: torch.device, stop: bool = False):
        self._samples = samples
        self._device = device
        self._stop = stop
        self._sum = torch.zeros(len(samples), samples.num_classes, dtype=torch.float64)
        self.losses: list[float] = []

    def __call__(self, model: nn.Module) -> dict[str, float]:
        rows = scored(model, self._samples, self._device).probabilities.double()
        self._sum += rows
        self.losses.append(float(F.nll_loss(rows.clamp_min(1e-12).log(), self._samples.labels)))
        if self._stop and len(self.losses) - self.best_epoch >= max(self.best_epoch, MIN_PATIENCE_EPOCHS):
            raise SeenEnoughError
        return {}

    @property
    def best_epoch(self) -> int:
        """How many epochs predict the given labels best."""
        return min(range(len(self.losses)), key=self.losses.__getitem__) + 1

    @property
    def predicted(self) -> Tensor:
        """The mean prediction over the epochs, shape (n, num_classes) float64."""
        return self._sum / len(self.losses)


def held_out(trainer: Trainer, train_set: Dataset, out: Tensor, stop: bool = False) -> HeldOut:
    """Train on all labeled samples but some, and look at these."""
    look = HeldOut(train_set.subset(out), trainer.device, stop)
    others = train_set.subset(train_set.labeled & ~out)
    batch_size = min(trainer.plan.train["batch_size"], len(others))
    with suppress(SeenEnoughError):
        _changed(trainer, batch_size=batch_size).train(others, evaluate=look)
    return look


def folds(labels: Tensor, seed: int, groups: Tensor | None = None) -> Tensor:
    """The fold of each sample, shape (N,), spread evenly over every class.

    It is -1, never held out, for the only sample of a class and for a sample without a label (-1 as well).
    """
    return stratified_folds(labels, NUM_FOLDS, least=2, generator=seeded(seed, NUM_FOLDS), groups=groups)


def _changed(trainer: Trainer, **train: object) -> Trainer:
    return replace(trainer, plan=replace(trainer.plan, train={**trainer.plan.train, **train}))


ABSTAIN_STREAM = 1002  # of the seed
JUDGE_STREAM = 1003
MIN_CLASS_SIZE = 3  # samples of a class of which some are held out


def set_apart(train_set: Dataset, share: float | None, seed: int) -> tuple[Tensor, Tensor]:
    """Indices of the samples to train on, and of a share of each class that is held out to set when to abstain."""
    everything = torch.arange(len(train_set))
    if share is None:
        return everything, everything[:0]
    size = round(share * len(train_set))
    if not 0 < size < len(train_set):
        raise DataError(
            f"abstain: {share:g} of {len(train_set)} samples is {size}; both parts need at least one sample"
        )
    apart = stratified(train_set.labels, size, stream(seed, ABSTAIN_STREAM), "abstain", train_set.groups)
    kept = everything[~torch.isin(everything, apart)]
    left = train_set.subset(kept).class_sizes
    lost = ((left == 0) & (train_set.class_sizes > 0)).nonzero().flatten().tolist()
    if lost:
        names = listed(train_set.class_names[label] for label in lost)
        raise DataError(f"abstain: {share:g} leaves no sample of class {names} to train on; hold out fewer")
    logger.info("abstain: %d of %d samples are not trained on", len(apart), len(train_set))
    return kept, apart


def judges(train_set: Dataset, share: float, seed: int) -> Tensor:
    """Indices of a share of each class that judges the epochs; classes of fewer than three samples are not held out."""
    fold = stratified_folds(
        train_set.labels, max(2, round(1 / share)), MIN_CLASS_SIZE, seeded(seed, JUDGE_STREAM), train_set.groups
    )
    found = (fold == 0).nonzero().flatten()
    if len(found) == 0:
        raise DataError(
            f"judge: no class has {MIN_CLASS_SIZE} samples with a label in two or more groups, so none can be held "
            "out; train without a judge"
        )
    if lacking := len(set(train_set.labels[train_set.labeled].tolist()) - set(train_set.labels[found].tolist())):
        logger.info("judge: %d classes have too few samples to judge by", lacking)
    logger.info("judge: %d of %d samples are not trained on", len(found), len(train_set))
    return found


def is_held_out(plan: Plan, test_set: Dataset | None) -> bool:
    """Whether the test set is a part of the user's own data, and not data of its own."""
    if plan.data is None or test_set is None:
        return False
    return plan.source.name == "files" and plan.source.options["test"] is None and test_set.origin is not None


def judge_samples(
    trainer: Trainer, trained: Trained, train_set: Dataset, kept: Tensor, apart: Tensor, weighting: Weighting | None
) -> Samples:
    """What training found out about each sample, and how credible its label is.

    If the method has a verdict of its own, that counts. Samples that were held out are judged by the model at the end,
    which has not seen them.
    """
    recall, plan = trained.recall, trainer.plan
    store = predictions(train_set.labels, train_set.num_classes, 0.0)
    for some in chunks(len(kept), train_set.num_classes):
        store.restart(kept[some], recall.predictions[some])
    losses, weights = spread(recall.losses, kept, len(train_set)), None
    if recall.weights is not None:
        weights = spread(recall.weights, kept, len(train_set))
    if len(apart):
        for some, outputs in logits(trained.model, train_set.subset(apart), trainer.device):
            rows = outputs.double().softmax(1).float()
            store.restart(apart[some], rows)
            labels = train_set.labels[apart[some]].clamp_min(0)
            losses[apart[some]] = F.nll_loss(rows.log(), labels, reduction="none")
        losses[apart[train_set.labels[apart] < 0]] = torch.nan
    candidates = train_set.candidates
    given = train_set.labels if candidates is None else likeliest_candidates(candidates, store)
    own, without = trained.verdict, None
    if own is None and plan.train["scoring"] == "out-of-fold" and candidates is None:
        without = out_of_fold(trainer, train_set.subset(kept) if len(apart) else train_set)
        store.restart(kept[without[0]], without[1])
    verdict = verdict_of(given, store)
    if own is not None and candidates is None:
        verdict = verdict.replaced(kept, own)
    elif without is not None and len(without[0]):
        index, rows = without
        labels = label_rows(given[kept[index]], train_set.num_classes)
        found = verdict_by_posterior(take_stock_unseen(rows, labels).posterior, given[kept[index]])
        verdict = verdict.replaced(kept[index], found)
    if own is None and recall.looks == 0 and plan.train["scoring"] == "in-training":
        verdict = verdict._replace(
            suggested=given, quality=torch.full_like(losses, torch.nan), wrong=torch.zeros_like(verdict.wrong)
        )
    verdict = settled(verdict, given, train_set.trusted)
    family = None
    if weighting is not None:
        family = weighting.families.of_class[torch.where(given >= 0, given, verdict.suggested)]
    return Samples(given, *verdict, losses=losses, weights=weights, family=family)


def settled(verdict: Verdict, given: Tensor, trusted: Tensor | None) -> Verdict:
    """The verdict, in which labels that a person has checked are right."""
    if trusted is None:
        return verdict
    return Verdict(*map(partial(torch.where, trusted), (given, torch.ones(()), torch.tensor(False)), verdict))


def unseen(plan: Plan, test_set: Dataset, tested: Scored, trained: Samples, finding: Finding | None) -> Samples | None:
    """What the model makes of labels that it was not trained on; None if these are sets of candidates, or not judged.

    Args:
        finding: How many of its labels are wrong, if these are of the same kind; as many of these then look wrong.
    """
    if test_set.candidates is not None or bool(trained.quality.isnan().all()):
        return None
    prior = plan.train["prior"]
    if max(tested.logits.numel(), test_set.num_classes**2) > MAX_POSTERIORS:
        verdict = verdict_of(test_set.labels, tested.probabilities)
    else:
        labels, share = test_set.labels, None
        if test_set.trusted is not None:
            labels = torch.where(test_set.trusted, -1, labels)  # beyond doubt
        if finding is not None and bool((labels >= 0).any()):
            wrong = torch.tensor(finding.share)[test_set.labels[test_set.labels >= 0]].sum()
            share = min(float(wrong) / int((labels >= 0).sum()), 1.0)
        verdict = verdict_unseen(labels, tested.probabilities, trained.given, trained.suggested, prior, share)
    verdict = settled(verdict, test_set.labels, test_set.trusted)
    losses = F.cross_entropy(tested.logits.float(), test_set.labels.clamp_min(0), reduction="none")
    return Samples(test_set.labels, *verdict, losses=losses)


def in_all(finding: Finding | None, trained: Samples, held_out: Samples | None, names: Sequence[str]) -> Finding | None:
    """The finding with the numbers of wrong labels between classes among all labels, held out for testing or not."""
    if finding is None or held_out is None or not finding.between:
        return finding
    parts = ((part.given, part.suggested) for part in (trained, held_out))
    between = direction(suggestions(len(names), *parts), names)
    words, claim = (each.replace(finding.between, between, 1) for each in (finding.words, finding.claim))
    return finding._replace(words=words, claim=claim, between=between)


def likeliest_candidates(candidates: CandidateSets, predictions: Rows) -> Tensor:
    """The candidate of each sample that was predicted most, shape (N,)."""
    parts = chunks(*candidates.shape)
    return torch.cat([predictions[index].float().where(candidates[index], -1.0).argmax(1) for index in parts])


def spread(values: Tensor, index: Tensor, size: int) -> Tensor:
    """``values`` at ``index`` of a tensor of ``size``, NaN elsewhere."""
    return values.new_full((size,), torch.nan).index_copy(0, index, values)

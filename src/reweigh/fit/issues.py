"""What training found out about each sample, and how credible its label is."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.core.candidate_sets import CandidateSets
from reweigh.data import Dataset
from reweigh.fit.out_of_fold import out_of_fold
from reweigh.fit.scored import Scored
from reweigh.fit.trainer import Trained, Trainer
from reweigh.fit.weighting import Weighting
from reweigh.issues import Finding, Rows, Samples, Verdict, chunks, verdict_by_posterior, verdict_of, verdict_unseen
from reweigh.issues.stock import label_rows, take_stock_unseen
from reweigh.plan import Plan
from reweigh.plan.choose import POSTERIORS
from reweigh.pseudo_labels import predictions
from reweigh.training.evaluation import logits


def judge_samples(
    trainer: Trainer,
    trained: Trained,
    train_set: Dataset,
    kept: Tensor,
    apart: Tensor,
    weighting: Weighting | None,
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
    if max(tested.logits.numel(), test_set.num_classes**2) > POSTERIORS:
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


def likeliest_candidates(candidates: CandidateSets, predictions: Rows) -> Tensor:
    """The candidate of each sample that was predicted most, shape (N,)."""
    parts = chunks(*candidates.shape)
    return torch.cat([predictions[index].float().where(candidates[index], -1.0).argmax(1) for index in parts])


def spread(values: Tensor, index: Tensor, size: int) -> Tensor:
    """``values`` at ``index`` of a tensor of ``size``, NaN elsewhere."""
    return values.new_full((size,), torch.nan).index_copy(0, index, values)

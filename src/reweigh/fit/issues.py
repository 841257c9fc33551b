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
from reweigh.issues import Rows, Samples, chunks, judge
from reweigh.issues.stock import explain, judged, label_rows, take_stock_unseen
from reweigh.issues.verdict import Verdict
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

    Args:
        kept: Indices of the samples that were trained on.
        apart: Indices of the others.
    """
    recall, plan = trained.recall, trainer.plan
    store = predictions(train_set.labels, train_set.num_classes, 0.0)
    for some in chunks(len(kept), train_set.num_classes):
        store.restart(kept[some], recall.predictions[some])
    losses, weights = spread(recall.losses, kept, len(train_set)), None
    if recall.weights is not None:
        weights = spread(recall.weights, kept, len(train_set))
    if len(apart):
        for some, outputs in logits(trained.method.model, train_set.subset(apart), trainer.device):
            rows = outputs.double().softmax(1).float()
            store.restart(apart[some], rows)
            labels = train_set.labels[apart[some]].clamp_min(0)
            losses[apart[some]] = F.nll_loss(rows.log(), labels, reduction="none")
        losses[apart[train_set.labels[apart] < 0]] = torch.nan
    candidates = train_set.candidates
    given = train_set.labels if candidates is None else likeliest_candidates(candidates, store)
    own, without = trained.method.judgment(), None
    if own is None and plan.train["scoring"] == "out-of-fold" and candidates is None:
        without = out_of_fold(trainer, train_set.subset(kept) if len(apart) else train_set)
        store.restart(kept[without[0]], without[1])
    judgment = judge(given, store)
    if own is not None and candidates is None:
        judgment = judgment.replaced(kept, own)
    elif without is not None and len(without[0]):
        index, rows = without
        labels = label_rows(given[kept[index]], train_set.num_classes)
        found = judged(take_stock_unseen(rows, labels).posterior, given[kept[index]])
        judgment = judgment.replaced(kept[index], found)
    if own is None and recall.looks == 0 and plan.train["scoring"] == "in-training":
        judgment = judgment._replace(
            suggested=given, quality=torch.full_like(losses, torch.nan), wrong=torch.zeros_like(judgment.wrong)
        )
    if train_set.trusted is not None:  # a person has the last word
        judgment = Verdict(
            *map(partial(torch.where, train_set.trusted), (given, torch.ones(()), torch.tensor(False)), judgment)
        )
    family = None
    if weighting is not None:
        family = weighting.families.of_class[torch.where(given >= 0, given, judgment.suggested)]
    return Samples(given, *judgment, losses=losses, weights=weights, family=family)


def unseen(plan: Plan, test_set: Dataset, tested: Scored, trained: Samples) -> Samples | None:
    """What the model makes of labels that it was not trained on; None if these are sets of candidates, or not judged.

    Args:
        tested: Its predictions.
        trained: What training made of its own samples.
    """
    if test_set.candidates is not None or bool(trained.quality.isnan().all()):
        return None
    prior = plan.method.options.get("prior", plan.train["prior"])
    if max(tested.logits.numel(), test_set.num_classes**2) > POSTERIORS:
        judgment = judge(test_set.labels, tested.probabilities)
    else:
        judgment = judge_unseen(test_set.labels, tested.probabilities, trained, prior)
    losses = F.cross_entropy(tested.logits.float(), test_set.labels.clamp_min(0), reduction="none")
    return Samples(test_set.labels, *judgment, losses=losses)


def judge_unseen(given: Tensor, predictions: Tensor, trained: Samples, prior: bool) -> Verdict:
    """How credible labels are that the model was not trained on.

        posterior_i(k)  ~  q_i(k)^(1 / temperature)  share(k)  T(y_i | k)

    Which class is given for which, T, is what was found out about the training samples; a tenth of it is taken as
    spread evenly, so that no confusion is impossible. Predictions that were learned from wrong labels are too modest:
    the temperature is the one with which they, sent through the confusion, explain these labels best.

    Args:
        given: Shape (n,), the given labels; -1 means no label.
        predictions: Probabilities by the trained model, shape (n, num_classes). Formula: q.
        trained: What training made of its samples.
        prior: Whether the model predicts as if all classes were equally frequent; otherwise share is left out.
    """
    classes = predictions.shape[1]
    known = (trained.given >= 0).nonzero().flatten()
    joint = torch.eye(classes, dtype=torch.float64)  # row: given label, column: true class; one more of each is right
    ones = torch.ones(len(known), dtype=torch.float64)
    joint.index_put_((trained.given[known], trained.suggested[known]), ones, accumulate=True)
    rate = float(1 - joint.diag().sum() / joint.sum())
    even = torch.full_like(joint, rate / max(classes - 1, 1)).fill_diagonal_(1 - rate)
    sizes = joint.sum(0)
    confusion = 0.9 * joint / sizes + 0.1 * even
    share = sizes / sizes.sum() if prior else torch.full_like(sizes, 1 / classes)
    labels = label_rows(given.clamp_min(0), classes)
    return judged(explain(predictions.float(), labels, confusion.float(), share.float(), given >= 0)[0], given)


def likeliest_candidates(candidates: CandidateSets, predictions: Rows) -> Tensor:
    """The candidate of each sample that was predicted most, shape (N,).

    Args:
        candidates: One or more of each sample.
        predictions: See ``judge``.
    """
    parts = chunks(*candidates.shape)
    return torch.cat([predictions[index].float().where(candidates[index], -1.0).argmax(1) for index in parts])


def spread(values: Tensor, index: Tensor, size: int) -> Tensor:
    """``values`` at ``index`` of a tensor of ``size``, NaN elsewhere."""
    return values.new_full((size,), torch.nan).index_copy(0, index, values)

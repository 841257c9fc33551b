"""What is thought of the given labels, sample by sample and as a whole, and how it follows from predictions."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from reweigh.issues.stock import explain, label_rows, take_stock

MAX_CHUNK_PROBABILITIES = 2_000_000  # 8 MB, and several times that while they are looked at
MAX_POSTERIOR_PROBABILITIES = 16_000_000  # posteriors depend on all of them, which are therefore in memory together
MAX_LOGIT_SHIFT = 50.0  # of qualities


class Verdict(NamedTuple):
    """What is thought of the given label of each sample.

    Attributes:
        suggested: Shape (N,), the class that the label should be.
        quality: Shape (N,), from 0, surely wrong, to 1, surely right; NaN for a sample without a label.
        wrong: Shape (N,) bool, whether the label looks wrong: the suggested class is not the given one.
    """

    suggested: Tensor
    quality: Tensor
    wrong: Tensor

    def replaced(self, index: Tensor, its: "Verdict") -> "Verdict":
        """The verdict with another one, ``its``, on the samples at ``index``."""
        return Verdict(*(all_.index_copy(0, index, some) for all_, some in zip(self, its, strict=True)))


class Finding(NamedTuple):
    """How many labels are wrong, by given class, and what was done about it.

    Attributes:
        share: Estimated share of wrong labels in each class.
        low: What it is at least, as far as the estimates agree.
        high: What it is at most.
        words: What was found and done, in a few sentences for the user.
        claim: The first of these: how many labels are wrong, and how sure that is.
        between: Between which classes they go, as the claim says it; empty if it does not name what looks wrong.
    """

    share: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    words: str
    claim: str = ""
    between: str = ""


def chunks(samples: int, num_classes: int) -> tuple[Tensor, ...]:
    """Indices of all samples, as many at a time as their probabilities fit in little memory."""
    return torch.arange(samples).split(max(1, MAX_CHUNK_PROBABILITIES // max(1, num_classes)))


class Rows(Protocol):
    """Predictions that can be read by index: a tensor, or a store of the largest probabilities."""

    def __getitem__(self, index: Tensor, /) -> Tensor: ...


def verdict_of(given: Tensor, predictions: Rows) -> Verdict:
    """How credible each given label is.

    The quality of a label is the posterior of its class, which takes into account which classes are given for which
    (``take_stock``). As many labels look wrong as the predictions contradict: those with the lowest quality. If there
    are too many probabilities to process together, the quality is the margin to the likeliest other class instead,

        quality = (1 + p_given - p_other) / 2

    and a label looks wrong if it is below one half. Learned weights are not used, because weights of different families
    cannot be compared.

    Args:
        given: Shape (N,), the given labels; -1 means no label.
        predictions: Probabilities of each sample, shape (N, num_classes), rows sum to one. It is best to average them
            during training, because at the end a model may have memorized wrong labels.
    """
    labeled, num_classes = given >= 0, predictions[torch.arange(min(1, len(given)))].shape[1]
    suggested, quality = [], []
    for index in chunks(len(given), num_classes):
        rows = predictions[index].float()
        own = given[index].clamp_min(0).unsqueeze(1)
        believed = rows.gather(1, own).squeeze(1)
        other = rows.scatter(1, own, -1.0).amax(1)
        suggested.append(rows.argmax(1))
        quality.append((1 + believed - other) / 2)
    likeliest, known = torch.cat(suggested), labeled.nonzero().flatten()
    contradicted = labeled & (likeliest != given)
    qualities = torch.where(labeled, torch.cat(quality).clamp(0, 1), float("nan"))
    verdict = Verdict(likeliest, qualities, contradicted)
    if len(known) == 0 or len(known) * num_classes > MAX_POSTERIOR_PROBABILITIES:
        return verdict
    labels, rows = given[known], predictions[known].float()
    posterior = take_stock(rows, label_rows(labels, num_classes)).posterior
    believed = posterior.gather(1, labels[:, None]).squeeze(1)
    share = int(contradicted.sum()) / len(known)
    return verdict.replaced(known, least_believed(believed, posterior, labels, share))


def verdict_by_posterior(posterior: Tensor, labels: Tensor) -> Verdict:
    """The quality of a given label is its posterior; it looks wrong if another class is likelier.

    Args:
        posterior: Shape (N, C).
        labels: Shape (N,); -1 means no label.
    """
    labeled, likeliest = labels >= 0, posterior.argmax(1)
    quality = posterior.gather(1, labels.clamp_min(0)[:, None]).squeeze(1).float()
    return Verdict(likeliest, torch.where(labeled, quality, float("nan")), labeled & (likeliest != labels))


def least_believed(believed: Tensor, posterior: Tensor, labels: Tensor, share: float) -> Verdict:
    """As many labels look wrong as the share says: those that are least credible. Qualities are shifted to match.

    Args:
        believed: Shape (N,), how credible each label is, from 0 to 1.
        posterior: Shape (N, C), posterior of the true class; the likeliest other class is suggested for a wrong label.
        labels: Shape (N,), the given labels.
        share: Share of wrong labels, from 0 to 1.
    """
    quality = in_line_with(share, believed)
    wrong = torch.zeros(len(labels), dtype=torch.bool)
    wrong[quality.argsort(stable=True)[: round(share * len(labels))]] = True
    other = posterior.scatter(1, labels[:, None], -1.0).argmax(1)
    return Verdict(torch.where(wrong, other, labels), quality, wrong)


def in_line_with(share: float, quality: Tensor) -> Tensor:
    """The qualities, shape (N,), all shifted on the scale of logits so that they match the share of wrong labels.

        mean_i (1 - quality_i)  =  share

    The order stays the same. The shift is needed because a network memorizes a small dataset, and is then too sure of
    labels that it has seen.

    Args:
        share: Share of wrong labels; at least half a sample counts as wrong, and at least half a sample as right.
    """
    share = min(max(share, 0.5 / len(quality)), 1 - 0.5 / len(quality))
    logits = quality.double().logit(1e-15)
    low, high = -MAX_LOGIT_SHIFT, MAX_LOGIT_SHIFT
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float((logits + middle).sigmoid().mean()) < 1 - share else (low, middle)
    return (logits + high).sigmoid().to(quality)


def verdict_unseen(
    given: Tensor, predictions: Tensor, seen: Tensor, suggested: Tensor, prior: bool, share: float | None = None
) -> Verdict:
    """How credible labels are that the model was not trained on.

        posterior_i(k)  ~  q_i(k)^(1 / temperature)  share(k)  T(y_i | k)

    Which class is given for which, T, is what was found out about the training samples; a tenth of it is taken as
    spread evenly, so that no confusion is impossible. Predictions that were learned from wrong labels are too modest:
    the temperature is the one with which they, sent through the confusion, explain these labels best.

    Args:
        given: Shape (n,), the given labels; -1 means no label.
        predictions: Probabilities by the trained model, shape (n, num_classes). Formula: q.
        seen: Shape (N,), the given labels of the training samples; -1 means no label.
        suggested: Shape (N,), what training takes for their true classes.
        prior: Whether the model predicts as if all classes were equally frequent; otherwise share is left out.
        share: Share of these labels that are wrong, if it is known: so many look wrong, see ``least_believed``.
    """
    classes = predictions.shape[1]
    known = (seen >= 0).nonzero().flatten()
    joint = torch.eye(classes, dtype=torch.float64)  # row: given label, column: true class; one more of each is right
    ones = torch.ones(len(known), dtype=torch.float64)
    joint.index_put_((seen[known], suggested[known]), ones, accumulate=True)
    rate = float(1 - joint.diag().sum() / joint.sum())
    even = torch.full_like(joint, rate / max(classes - 1, 1)).fill_diagonal_(1 - rate)
    sizes = joint.sum(0)
    confusion = 0.9 * joint / sizes + 0.1 * even
    sizes = sizes / sizes.sum() if prior else torch.full_like(sizes, 1 / classes)
    labels, known = label_rows(given.clamp_min(0), classes), (given >= 0).nonzero().flatten()
    posterior = explain(predictions.float(), labels, confusion.float(), sizes.float(), given >= 0)[0]
    verdict = verdict_by_posterior(posterior, given)
    if share is None or len(known) == 0:
        return verdict
    believed, labels = verdict.quality[known], given[known]
    return verdict.replaced(known, least_believed(believed, posterior[known], labels, share))

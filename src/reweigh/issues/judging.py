"""How credible given labels are, by predictions along training."""

from typing import Protocol

import torch
from torch import Tensor

from reweigh.issues.stock import label_rows, least_believed, take_stock
from reweigh.issues.verdict import Verdict

IN_A_CHUNK = 2_000_000  # probabilities; 8 MB, and several times that while they are looked at
TOGETHER = 16_000_000  # probabilities at most for posteriors, which depend on all of them


def chunks(samples: int, num_classes: int) -> tuple[Tensor, ...]:
    """Indices of all samples, as many at a time as their probabilities fit in little memory."""
    return torch.arange(samples).split(max(1, IN_A_CHUNK // max(1, num_classes)))


class Rows(Protocol):
    """Predictions that can be read by index: a tensor, or a store of the largest probabilities."""

    def __getitem__(self, index: Tensor, /) -> Tensor: ...


def judge(given: Tensor, predictions: Rows) -> Verdict:
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
    judgment = Verdict(likeliest, qualities, contradicted)
    if len(known) == 0 or len(known) * num_classes > TOGETHER:
        return judgment
    labels, rows = given[known], predictions[known].float()
    posterior = take_stock(rows, label_rows(labels, num_classes)).posterior
    believed = posterior.gather(1, labels[:, None]).squeeze(1)
    share = int(contradicted.sum()) / len(known)
    return judgment.replaced(known, least_believed(believed, posterior, labels, share))

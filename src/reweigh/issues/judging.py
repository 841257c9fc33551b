"""How credible given labels are, by predictions along training."""

from typing import Protocol

import torch
from torch import Tensor

from reweigh.core.judgment import Judgment
from reweigh.issues.stock import label_rows, least_believed, take_stock

IN_A_CHUNK = 2_000_000  # probabilities; 8 MB, and several times that while they are looked at
TOGETHER = 16_000_000  # probabilities at most for posteriors, which depend on all of them


def chunks(samples: int, num_classes: int) -> tuple[Tensor, ...]:
    """Indices of all samples, as many at a time as their probabilities fit in little memory."""
    return torch.arange(samples).split(max(1, IN_A_CHUNK // max(1, num_classes)))


class Rows(Protocol):
    """Predictions by index: a tensor is one, a store that keeps the largest probabilities another."""

    def __getitem__(self, index: Tensor, /) -> Tensor: ...


def judge(given: Tensor, predictions: Rows) -> Judgment:
    """How credible each given label is.

    As many labels look wrong as the predictions contradict: those that are believed least. A label is believed by the
    posterior of its class, which depends on which class is given for which (``take_stock``). Where there are too many
    probabilities to look at together, it is believed by the margin to the likeliest other class,

        quality = (1 + p_given - p_other) / 2

    and looks wrong if that is below one half. Learned weights have no say: those of two families cannot be compared.

    Args:
        given: Shape (N,), the given labels; -1 means no label.
        predictions: Probabilities of each sample, shape (N, num_classes), rows sum to one. They are best averaged along
            training, since in the end a model may have memorized wrong labels too.
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
    judgment = Judgment(likeliest, qualities, contradicted)
    if len(known) == 0 or len(known) * num_classes > TOGETHER:
        return judgment
    labels, rows = given[known], predictions[known].float()
    posterior = take_stock(rows, label_rows(labels, num_classes)).posterior
    believed = posterior.gather(1, labels[:, None]).squeeze(1)
    share = int(contradicted.sum()) / len(known)
    return judgment.replaced(known, least_believed(believed, posterior, labels, share))

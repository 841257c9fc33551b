"""What a measurement on labels that may be wrong would be on true labels, and how sure that is."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

MIN_SINGULAR_VALUE = 0.1  # of the confusion; below, labels say too little about the true classes
DRAWS = 200  # of samples and confusions, for the standard errors


def correction(transition: Tensor) -> Tensor | None:
    """Weights W with which given labels count as true ones on average, shape (C, C); None if the labels say too little.

        sum_y  W(k, y) T(y | j)  =  1 if j is k, else 0

    The mean of sum_k W(k, y_i) loss_i(k) over samples is then, on average, the mean loss on true labels (Patrini et
    al., CVPR 2017: backward correction).

    >>> correction(torch.tensor([[0.9, 0.2], [0.1, 0.8]]))
    tensor([[ 1.1429, -0.2857],
            [-0.1429,  1.2857]], dtype=torch.float64)

    Args:
        transition: Shape (C, C), T(y | k): probability of the given class y (row) if k is the true one (column).
    """
    transition = transition.double()
    if float(torch.linalg.svdvals(transition)[-1]) < MIN_SINGULAR_VALUE:
        return None
    return torch.linalg.inv(transition)


def accuracy_limits(agreement: float, wrong: float, repeated: float) -> tuple[float, float]:
    """Between which limits the accuracy on true labels lies.

    The model is wrong where it repeats a wrong label, and may be right where it contradicts one.

    >>> accuracy_limits(0.75, wrong=0.2, repeated=0.5)
    (0.65, 0.95)

    Args:
        agreement: Share of the given labels that the model predicts.
        wrong: Share of the given labels that are wrong, at most.
        repeated: Share of these that the model repeats, at most.
    """
    return max(agreement - repeated * wrong, 0.0), min(agreement + wrong, 1.0)


def on_true_labels(logits: Tensor, given: Tensor, transition: Tensor, labels: int) -> dict[str, tuple[float, float]]:
    """Accuracy, balanced accuracy and log loss on true labels, each with its standard error; empty if unknown.

    The errors come from drawing samples again, and the confusion from what is known about it.

    Args:
        logits: Shape (n, C), logits of the probabilities.
        given: Shape (n,), the given labels.
        transition: See ``correction``.
        labels: Number of labels that the confusion was estimated from.
    """
    if correction(transition) is None or len(given) == 0:
        return {}
    classes, random = logits.shape[1], np.random.default_rng(0)
    losses = -logits.double().log_softmax(1)
    hit = F.one_hot(logits.argmax(1), classes).double()
    # per given class: how often each class is predicted, and the sums of the losses if each class were the true one
    rows = torch.cat([hit, losses], 1)

    def measured(counts: Tensor, weights: Tensor) -> Tensor:
        """Accuracy, balanced accuracy and log loss if each sample is there so many times, shape (n,)."""
        sums = torch.zeros(classes, 2 * classes, dtype=torch.float64).index_add_(0, given, rows * counts[:, None])
        sizes = torch.zeros(classes, dtype=torch.float64).index_add_(0, given, counts)
        hits, costs, true = (weights * sums[:, :classes].T).sum(1), weights * sums[:, classes:].T, weights @ sizes
        met = true > 0
        share = (hits[met] / true[met]).clamp(0, 1)
        return torch.stack([hits.sum() / sizes.sum(), share.mean(), costs.sum() / sizes.sum()])

    known = transition.double().clamp_min(1e-9) * labels / classes  # about so many labels of each true class
    drawn = []
    for _ in range(DRAWS):
        again = torch.from_numpy(random.integers(len(given), size=len(given)))
        confusion = torch.from_numpy(random.standard_gamma(known.numpy()))
        weights = correction(confusion / confusion.sum(0))
        if weights is not None:
            drawn.append(measured(torch.bincount(again, minlength=len(given)).double(), weights))
    weights = correction(transition)
    assert weights is not None
    found = measured(torch.ones(len(given), dtype=torch.float64), weights)
    errors = torch.stack(drawn).std(0) if len(drawn) > 1 else torch.full((3,), torch.nan)
    found = torch.cat([found[:2].clamp(0, 1), found[2:].clamp_min(0)])  # chance may lead beyond
    names = ("accuracy", "balanced_accuracy", "log_loss")
    return {name: (float(value), float(error)) for name, value, error in zip(names, found, errors, strict=True)}

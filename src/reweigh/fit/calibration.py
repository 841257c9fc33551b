"""Calibrate scores on held-out labels, some of them wrong: a temperature and class biases, through the confusion."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from reweigh.issues.stock import label_rows, take_stock_unseen

MIN_LABELS = 40  # fewer held-out labels cannot calibrate
MAX_CELLS = 4_000_000  # samples times classes; of more, some samples are left out
EPS_SHARE = 1e-6
TEMPERATURE_SPREAD = 1.0  # standard deviation of log temperature before any label is seen
BIAS_SPREAD = 0.3  # standard deviation of a class bias, likewise
CHANCE_GAIN = 0.5  # log-likelihood that each fitted number gains by chance
TEMPERATURES = (1 / 30, 30.0)  # lowest and highest


class Calibration(NamedTuple):
    """What turns scores without class shares into probabilities.

    Attributes:
        temperature: Scores are divided by it.
        bias: Shape (C,), added afterward; zero for a class without a held-out label.
        joint: Shape (C, C), share of samples by given (row) and true (column) class that explains the labels best.
        labels: Number of held-out labels; 0 if there were too few, and the other values are those of no calibration.
    """

    temperature: float
    bias: Tensor
    joint: Tensor
    labels: int


def calibrate(scores: Tensor, given: Tensor, joint: Tensor, biases: bool = True) -> Calibration:
    """The calibration with which scores, passed through the confusion, explain held-out labels best.

        p_i(k)  ~  exp(scores_i(k) / temperature + bias_k) share_k,      p(y_i) = sum_k T(y_i | k) p_i(k)

    Wrong labels then do not flatten the probabilities. Predictions mistake overlapping classes for wrong labels, so the
    joint is a mixture of ``joint`` and of a joint in which every label is right; the labels decide on the parts:
    wrong labels occur where a class is sure, overlap does not. The first explains labels better even by chance, since
    it was fitted to them, and has to gain more than that. Temperature and biases are shrunk to 1 and 0.

    >>> scores = torch.linspace(-9, 9, 999)[:, None] * torch.tensor([1.0, -1.0])  # too sure by a factor of 3
    >>> given = (torch.rand(999, generator=torch.Generator().manual_seed(0)) > (scores[:, 0] * 2 / 3).sigmoid()).long()
    >>> given[::5] = 1 - given[::5]  # a fifth are wrong
    >>> blind = calibrate(scores, given, torch.eye(2) / 2)
    >>> found = calibrate(scores, given, torch.tensor([[0.4, 0.1], [0.1, 0.4]]))
    >>> round(blind.temperature, 1), round(found.temperature, 1)
    (9.3, 2.6)

    Args:
        scores: Shape (n, C), logits of samples that were not trained on, without class shares.
        given: Shape (n,), their given labels; -1 means no label.
        joint: Shape (C, C), supposed share of samples by given (row) and true (column) class.
        biases: Whether to fit class biases too.
    """
    from scipy.optimize import minimize

    joint = joint.double() / joint.sum()
    right = joint.sum(1).diag()
    wrong = (joint - joint.diag().diag()).clamp_min(EPS_SHARE**2)
    cells = float(torch.special.entr(wrong / wrong.sum()).sum().exp())  # numbers fitted: cells with most wrong labels
    classes = len(joint)
    known = (given >= 0).nonzero().flatten()
    if len(known) < MIN_LABELS or classes < 2:
        return Calibration(1.0, torch.zeros(classes, dtype=torch.float64), joint, 0)
    known = known[:: math.ceil(len(known) * classes / MAX_CELLS)]
    scores, given = scores[known].double(), given[known]
    seen = (torch.bincount(given, minlength=classes) > 0) & torch.tensor(biases)

    def mixed(part: Tensor) -> Tensor:
        return (1 - part) * right + part * joint

    def cost(values: Tensor) -> Tensor:
        log_temperature, part, bias = values[0], values[1], values[2:]
        counts = mixed(part).clamp_min(EPS_SHARE**2)
        logits = scores / log_temperature.exp() + bias
        explained = (logits + counts.log()[given]).logsumexp(1) - (logits + counts.sum(0).log()).logsumexp(1)
        doubt = (log_temperature / TEMPERATURE_SPREAD).square() + (bias / BIAS_SPREAD).square().sum()
        return doubt / 2 + CHANCE_GAIN * cells * part - explained.sum()

    def with_slope(values: np.ndarray) -> tuple[float, np.ndarray]:
        at = torch.from_numpy(values).requires_grad_()
        (slope,) = torch.autograd.grad(found := cost(at), at)
        return float(found.detach()), slope.numpy()

    free = [(-BIAS_SPREAD * 10, BIAS_SPREAD * 10) if each else (0, 0) for each in seen.tolist()]
    bounds = [tuple(map(math.log, TEMPERATURES)), (0, 1), *free]
    starts = [np.array([log, part, *[0.0] * classes]) for log, part in ((0.0, 0.0), (-0.5, 1.0))]
    found = min((minimize(with_slope, start, jac=True, bounds=bounds) for start in starts), key=lambda each: each.fun)
    values = torch.from_numpy(found.x)
    return Calibration(math.exp(values[0]), values[2:], mixed(values[1]), len(given))


def supposed_joint(scores: Tensor, given: Tensor) -> Tensor:
    """Share of samples by given (row) and true (column) class, shape (C, C), as held-out predictions see it."""
    known = given >= 0
    classes = scores.shape[1]
    if not bool(known.any()):
        return torch.eye(classes, dtype=torch.float64) / classes
    rows = scores[known].double().softmax(1).float()
    joint = take_stock_unseen(rows, label_rows(given[known], classes)).joint.double()
    return joint / joint.sum()

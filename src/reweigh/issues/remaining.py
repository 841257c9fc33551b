"""Estimate how many wrong labels are left, from the decisions made so far."""

from typing import NamedTuple

import numpy as np

BINS = 64
SHIFTS = np.linspace(-3.5, 3.5, 36)  # a: how far all doubts are too small or too large, in log-odds
SLOPES = np.linspace(0.2, 2.2, 11)  # b: how far they are too timid or too bold
SPREAD = (0.9, 0.35)  # standard deviations of both before any decision
EDGE = 0.002  # no doubt is closer to 0 or 1
LIMITS = (0.05, 0.95)


class Remaining(NamedTuple):
    """A number of wrong labels, and the limits between which it lies."""

    estimate: float
    low: float
    high: float


def remaining(
    doubt: np.ndarray, decided: np.ndarray, wrong: np.ndarray, counted: tuple[float, float] | None = None
) -> Remaining:
    """Estimate the number of wrong labels among the samples that nobody has decided about.

    The doubt about a label is taken for the probability that it is wrong, after a correction that decisions teach:

        P(wrong | doubt d) = sigmoid(a + b logit(d))

    with b near 1 and a near its center before any decision. The center is such that the estimate then is the sum of
    the doubts. The posterior of (a, b) is computed on a grid. What was decided need not be a random sample: the order
    of the review depends on the doubts only, which are part of the model.

    Args:
        doubt: Shape (N,), from 0 to 1.
        decided: Indices of the samples with a decision, shape (n,).
        wrong: Whether the label of each of these was wrong, shape (n,) bool.
        counted: How many labels are wrong in all by training, at least and at most; None if it does not say.
    """
    clipped = np.clip(np.nan_to_num(doubt, nan=0.0), EDGE, 1 - EDGE)
    logits = np.log(clipped / (1 - clipped))
    edges = np.linspace(logits.min(), logits.max() + 1e-9, BINS + 1)
    place = np.clip(np.searchsorted(edges, logits, side="right") - 1, 0, BINS - 1)
    centers = (edges[:-1] + edges[1:]) / 2
    left = np.ones(len(doubt), bool)
    left[decided] = False
    undecided, yes, no = (np.bincount(place[some], minlength=BINS) for some in (left, decided[wrong], decided[~wrong]))
    shift, slope = (each.ravel() for each in np.meshgrid(SHIFTS, SLOPES, indexing="ij"))
    odds = shift[:, None] + slope[:, None] * centers
    right = -np.logaddexp(0, odds)  # log P(label is right)
    share = np.exp(right + odds)
    expected, total = share @ np.bincount(place, minlength=BINS), float(np.nansum(doubt))

    def prior(center: float) -> np.ndarray:
        return -(((shift - center) / SPREAD[0]) ** 2) / 2 - ((slope - 1) / SPREAD[1]) ** 2 / 2

    low, high = SHIFTS[0], SHIFTS[-1]
    for _ in range(30):
        center = (low + high) / 2
        low, high = (center, high) if _normalized(prior(center)) @ expected < total else (low, center)
    belief = _normalized(prior(high) + (right + odds) @ yes + right @ no)
    counts, noise = share @ undecided, (share * (1 - share)) @ undecided
    mean = float(belief @ counts)
    order = np.argsort(counts)
    low, high = np.interp(LIMITS, np.cumsum(belief[order]) - belief[order] / 2, counts[order])
    extra = float(belief @ noise) * 1.645**2  # chance besides what is not known about (a, b)
    low, high = mean - float(np.sqrt((mean - low) ** 2 + extra)), mean + float(np.sqrt((high - mean) ** 2 + extra))
    if counted is not None:
        least, most = (each - int(wrong.sum()) for each in counted)
        low, high = min(low, least), max(high, most)
    return Remaining(mean, max(0.0, low), min(float(left.sum()), high))


def _normalized(logs: np.ndarray) -> np.ndarray:
    belief = np.exp(logs - logs.max())
    return belief / belief.sum()

"""Whether probabilities hold on held-out labels, and what each threshold leads to, if labels may be wrong."""

import numpy as np

from reweigh.issues.count import Z90

BINS = 10
LEAST = 50  # samples of a bin; fewer say too little about a probability
LEAST_OF_CLASS = 20  # samples of a class, or predicted as it, that a rate rests on


def reliability(probability: np.ndarray, agrees: np.ndarray, right: np.ndarray, error: float = 0.0) -> np.ndarray:
    """Bins of about equal size, at least ``LEAST`` samples unless there are fewer; equal probabilities share one.

    Shape (6, bins): size, mean probability, share of the given labels that agree, what that would be on true labels,
    and its limits, which hold 90 % of the time.

    Args:
        probability: Shape (n,), that of the likeliest class.
        agrees: Shape (n,), whether that class is the given label.
        right: Shape (n,), what this counts on true labels: W(predicted, given), see ``true_labels.correction``.
        error: Standard error that all bins have in common, that of the confusion.
    """
    order, n, end, rows = np.argsort(probability, kind="stable"), len(probability), 0, []
    while (start := end) < n:
        last = order[min(start + max(LEAST, -(-n // BINS)), n) - 1]
        end = int((probability <= probability[last]).sum())
        end = n if n - end < LEAST else end
        some, size = order[start:end], end - start
        mean = float(np.clip(right[some].mean(), 0, 1))  # chance may lead beyond
        middle = (size * mean + 2) / (size + 4)  # limits are never closer than the size allows (Agresti and Coull)
        spread = max(float(right[some].var()), middle * (1 - middle)) / (size + 4)
        width = Z90 * (spread + error**2) ** 0.5
        limits = max(min(middle - width, mean), 0.0), min(max(middle + width, mean), 1.0)
        rows.append((size, probability[some].mean(), agrees[some].mean(), mean, *limits))
    return np.array(rows).reshape(-1, 6).T


def by_threshold(probability: np.ndarray, true: np.ndarray, thresholds: np.ndarray, miss: float = 1.0) -> np.ndarray:
    """Precision, recall and expected cost of a sample if a class is predicted from each threshold on, shape (3, t).

    Precision and recall are NaN where they rest on fewer than ``LEAST_OF_CLASS`` samples.

    Args:
        probability: Shape (n,), that of the class.
        true: Shape (n,), what a given label counts for the class: W(class, given); 1 or 0 if labels are right.
        miss: Cost of missing the class; that of a false alarm is 1.
    """
    alarm = probability >= thresholds[:, None]
    alarms, hits, total = alarm.sum(1), alarm @ true, float(true.sum())
    precision = np.where(alarms < LEAST_OF_CLASS, np.nan, np.clip(hits / np.maximum(alarms, 1), 0, 1))
    recall = np.clip(hits / max(total, 1), 0, 1) if total >= LEAST_OF_CLASS else np.full(len(hits), np.nan)
    return np.stack([precision, recall, np.maximum(miss * (total - hits) + alarms - hits, 0) / len(true)])

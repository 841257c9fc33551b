"""Feature-dependent noise: labels are wrong where the posteriors of two classes are close (PMD noise of PLC)."""

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
import torch
from annotated_types import Ge, Le
from torch import Tensor

from reweigh.bias.biased import Biased, check_labels, check_share, compare
from reweigh.errors import DataError

# Probability of a mistake for a margin d between the posteriors of the two classes. Paper: tau, Types I, II, III.
MISTAKE: dict[str, Callable[[Tensor], Tensor]] = {
    "I": lambda d: 0.5 - 0.5 * d**2,
    "II": lambda d: 1 - d**3,
    "III": lambda d: 1 - (d**3 + d**2 + d) / 3,
}
Kind = Literal["I", "II", "III"]


def feature_dependent(
    labels: Tensor,
    num_classes: int,
    seed: int,
    posteriors: Tensor | None = None,
    *,
    rate: Annotated[float, Ge(0), Le(1)],
    kind: Kind = "I",
) -> Biased:
    """The label becomes the likeliest class, or the second likeliest with a probability that falls with their margin.

    As in PLC, the likeliest class is kept with probability min(1, (1 - mistake(margin)) / factor), whatever the given
    label. So mistakes of the posteriors are noise too, and the rate cannot be lower than theirs.

    Examples:
        >>> posteriors = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.5, 0.5], [0.1, 0.9]]).repeat(250, 1)
        >>> biased = feature_dependent(posteriors.argmax(1), 2, 0, posteriors, rate=0.2)
        >>> biased.flipped.view(250, 4).float().mean(0).round(decimals=2)  # unsure samples are wrong most often
        tensor([0.0200, 0.3600, 0.4600, 0.0100])

    Args:
        labels: Labels that are taken as true, shape (N,).
        posteriors: Rows that sum to one, shape (N, C), from a well-trained network or ``probe.out_of_fold``.
        rate: Average share of wrong labels, which determines the factor. Paper: 0.35 and 0.70.
        kind: How the probability of a mistake falls with the margin.

    Raises:
        DataError: The posteriors are not valid, or no factor gives the rate; the message has the possible range.
    """
    posteriors = checked(labels, num_classes, posteriors, rate, kind)
    (first, second), (likeliest, rival) = (part.T for part in posteriors.topk(2, dim=1))
    certain = 1 - MISTAKE[kind](first - second)

    def keep(log_factor: float) -> Tensor:
        return (certain / np.exp(log_factor)).clamp(0, 1)

    def expected(log_factor: float) -> float:
        kept = keep(log_factor)
        return float((kept * (likeliest != labels) + (1 - kept) * (rival != labels)).mean())

    kept = keep(bisect(expected, rate, "give better posteriors, or use 'feature-dependent-rival'"))
    draws = torch.from_numpy(np.random.default_rng(seed).random(len(labels)))
    return compare(labels, torch.where(draws < kept, likeliest, rival), num_classes)


def feature_dependent_rival(
    labels: Tensor,
    num_classes: int,
    seed: int,
    posteriors: Tensor | None = None,
    *,
    rate: Annotated[float, Ge(0), Le(1)],
    kind: Kind = "I",
) -> Biased:
    """The label becomes its likeliest rival with a probability that falls with the margin between the two.

    This starts from the given label instead of the likeliest class, and scales the mistake instead of the certainty:
    min(1, factor * mistake(margin)). So any rate is possible even with a weak probe. Where the posteriors prefer the
    rival, the margin is 0; where they agree with the labels, this is what the text of the paper describes.

    Examples:
        >>> posteriors = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.5, 0.5], [0.1, 0.9]]).repeat(250, 1)
        >>> biased = feature_dependent_rival(posteriors.argmax(1), 2, 0, posteriors, rate=0.2)
        >>> biased.flipped.view(250, 4).float().mean(0).round(decimals=2)
        tensor([0.1000, 0.2700, 0.2900, 0.0800])

    Args:
        labels: Labels that are taken as true, shape (N,).
        posteriors: Rows that sum to one, shape (N, C).
        rate: Average share of wrong labels, which determines the factor.
        kind: How the probability of a mistake falls with the margin.

    Raises:
        DataError: The posteriors are not valid, or no factor gives the rate; the message has the possible range.
    """
    posteriors = checked(labels, num_classes, posteriors, rate, kind)
    own = posteriors.gather(1, labels[:, None]).squeeze(1)
    others = posteriors.scatter(1, labels[:, None], -1.0)
    of_rival, rival = others.max(1)
    mistake = MISTAKE[kind]((own - of_rival).clamp_min(0))

    def flip(log_factor: float) -> Tensor:
        return (np.exp(log_factor) * mistake).clamp(0, 1)

    flipping = flip(bisect(lambda log_factor: float(flip(log_factor).mean()), rate, "give less certain posteriors"))
    draws = torch.from_numpy(np.random.default_rng(seed).random(len(labels)))
    return compare(labels, torch.where(draws < flipping, rival, labels), num_classes)


def checked(labels: Tensor, num_classes: int, posteriors: Tensor | None, rate: float, kind: str) -> Tensor:
    """The posteriors in double precision, after all arguments are checked."""
    check_labels(labels, num_classes)
    check_share("rate", rate)
    if kind not in MISTAKE:
        raise DataError(f"kind: no kind {kind!r}; there are: {', '.join(MISTAKE)}")
    if posteriors is None:
        raise DataError("posteriors: feature-dependent noise needs them; give a tensor (N, C) or use probe.out_of_fold")
    if num_classes < 2 or posteriors.shape != (len(labels), num_classes):
        raise DataError(
            f"posteriors: shape {tuple(posteriors.shape)}; give ({len(labels)}, {num_classes}), with 2 classes or more"
        )
    posteriors = posteriors.double()
    wrong = ~((posteriors >= 0).all(1) & ((posteriors.sum(1) - 1).abs() < 1e-3))  # NaN is wrong too
    if wrong.any():
        row = int(wrong.nonzero()[0])
        numbers = posteriors[row]
        raise DataError(
            f"posteriors: row {row} does not hold probabilities: from {numbers.min():.3g} to {numbers.max():.3g}, with "
            f"sum {numbers.sum():.3g} (wrong rows: {int(wrong.sum()):,} of {len(wrong):,}); give numbers of at least 0 "
            "that sum to 1, such as the softmax of logits"
        )
    return posteriors


def bisect(expected: Callable[[float], float], rate: float, remedy: str) -> float:
    """The log of the factor at which ``expected``, which rises with it, is ``rate``; a DataError if none is."""
    low, high = -50.0, 50.0
    least, most = expected(low), expected(high)
    if not least - 1e-9 <= rate <= most + 1e-9:
        raise DataError(f"rate: {rate} is not possible with these posteriors, only {least:.3f} to {most:.3f}; {remedy}")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expected(middle) < rate else (low, middle)
    return high


def out_of_fold(
    inputs: Tensor, labels: Tensor, num_classes: int, seed: int, *, folds: int = 5, components: int = 64
) -> Tensor:
    """Logistic regression on whitened principal components, cross-validated.

    The components are fitted to all inputs, without labels. This takes about ten seconds for 50,000 small images.

    Args:
        inputs: Shape (N, ...), bytes or floats; flattened.
        labels: Shape (N,).
        seed: Seed of the folds and of the components.
        folds: Number of folds; each sample is predicted by the model of the other folds.
        components: Largest number of components; a larger one is slower and more accurate.

    Returns:
        Tensor: shape (N, num_classes), rows sum to one. A class with fewer samples than folds may get 0 somewhere.
    """
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold, StratifiedKFold

    given, features = labels.numpy(), inputs.flatten(1).float().numpy()
    features = PCA(min(components, *features.shape), whiten=True, random_state=seed).fit_transform(features)
    sizes = np.bincount(given)
    folds = min(folds, len(given))
    kind = StratifiedKFold if sizes[sizes > 0].min() >= folds else KFold
    posteriors = np.zeros((len(given), num_classes))
    for train, held_out in kind(folds, shuffle=True, random_state=seed).split(features, given):
        probe = LogisticRegression(max_iter=1000, tol=1e-3).fit(features[train], given[train])
        posteriors[np.ix_(held_out, probe.classes_)] = probe.predict_proba(features[held_out])
    return torch.from_numpy(posteriors)

"""Several biases in sequence, compared with the labels before the first."""

import inspect
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from reweigh.bias.biased import Biased, check_labels, compare


def apply(
    biases: Sequence[Callable[..., Biased]],
    labels: Tensor,
    num_classes: int,
    seed: int | Sequence[int],
    class_names: Sequence[str] | None = None,
    posteriors: Tensor | Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Biased:
    """Apply biases in sequence, each to the result of the one before.

    Args:
        biases: Members of ``BIASES`` with their options bound: ``partial(symmetric, rate=0.4)``.
        labels: Labels to start from, shape (N,).
        seed: One seed, from which each bias gets its own, or one seed per bias.
        class_names: Class names, for a map of names.
        posteriors: Class posteriors for feature-dependent noise, shape (N, C), or a function (index, labels) -> (n, C)
            that is called with the remaining samples and their labels at that point, only if a bias needs it.

    Returns:
        Biased: flipped, rate and transition relative to ``labels``.
    """
    check_labels(labels, num_classes)
    index = torch.arange(len(labels))
    after, replaced = labels, None
    seeds = [stream(seed, number) for number in range(len(biases))] if isinstance(seed, int) else seed
    for bias, its_seed in zip(biases, seeds, strict=True):
        supplied = {}  # what else a bias needs is in its signature
        wanted = inspect.signature(bias).parameters
        if "class_names" in wanted:
            supplied["class_names"] = class_names
        if "posteriors" in wanted and posteriors is not None:
            supplied["posteriors"] = posteriors[index] if isinstance(posteriors, Tensor) else posteriors(index, after)
        step = bias(after, num_classes, its_seed, **supplied)
        index, after = index[step.index], step.labels
        if replaced is not None:
            replaced = replaced[step.index]
        if step.replaced is not None:
            replaced = step.replaced if replaced is None else replaced | step.replaced
    return compare(labels[index], after, num_classes, index, replaced)


def stream(seed: int, number: int) -> int:
    """The seed of the bias with this number: the given one for the first, unrelated ones for the others."""
    return seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])

"""Parts of a training set that are held out in turn, each with its share of every class."""

import torch
from torch import Generator, Tensor

from reweigh.data.splits import stratified_folds


def held_out_in_turn(
    labels: Tensor, folds: int, judging: tuple[int, int], generator: Generator, groups: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The fold of each sample, and which samples of fold 0 are held out of the second look too; shape (N,).

    Args:
        folds: Number of folds, and smallest number of samples that a class must have.
        judging: (m, n): m of n samples of fold 0 are held out of the second look too.
        generator: Decides both.
        groups: Shape (N,), samples of the same number are held out together; None if all are free.
    """
    fold = stratified_folds(labels, folds, folds, generator, groups)
    first, (some, of) = (fold == 0).nonzero().flatten(), judging
    to_the_end = torch.zeros(len(labels), dtype=torch.bool)
    among = None if groups is None else groups[first]
    chosen = stratified_folds(labels[first], of, 1, generator, among)
    to_the_end[first[(chosen >= 0) & (chosen < some)]] = True
    return fold, to_the_end

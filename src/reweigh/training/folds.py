"""Parts of a training set that are held out in turn, each with its share of every class."""

import torch
from torch import Generator, Tensor


def stratified_folds(labels: Tensor, folds: int, least: int, generator: Generator) -> Tensor:
    """The fold of each sample, shape (N,), counted from 0; within a class, the sizes of folds differ by at most one.

    Samples without a label and samples of small classes are never held out; their fold is -1.

    Args:
        labels: Shape (N,); -1 means no label.
        folds: Number of folds.
        least: Number of samples that a class must have; smaller classes are never held out.
        generator: Decides which sample is in which fold.
    """
    shuffled = torch.randperm(len(labels), generator=generator)
    grouped = shuffled[labels[shuffled].argsort(stable=True)]
    fold = torch.empty_like(labels)
    fold[grouped] = torch.arange(len(labels)) % folds
    sizes = torch.bincount(labels[labels >= 0], minlength=1)
    fold[(labels < 0) | (sizes[labels] < least)] = -1
    return fold


def held_out_in_turn(
    labels: Tensor, folds: int, judging: tuple[int, int], generator: Generator
) -> tuple[Tensor, Tensor]:
    """The fold of each sample, and which samples of fold 0 are held out of the second look too; shape (N,).

    Args:
        folds: Number of folds, and smallest number of samples that a class must have.
        judging: (m, n): m of n samples of fold 0 are held out of the second look too.
        generator: Decides both.
    """
    fold = stratified_folds(labels, folds, folds, generator)
    first, (some, of) = (fold == 0).nonzero().flatten(), judging
    to_the_end = torch.zeros(len(labels), dtype=torch.bool)
    to_the_end[first[stratified_folds(labels[first], of, 1, generator) < some]] = True
    return fold, to_the_end

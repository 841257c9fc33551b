"""Parts of a training set that are held out in turn, each with its share of every class."""

import torch
from torch import Generator, Tensor


def stratified_folds(labels: Tensor, folds: int, least: int, generator: Generator) -> Tensor:
    """The fold of each sample, shape (N,), from 0 on; within every class their sizes differ by one at most.

    It is -1, never held out, for samples without a label (-1 as well) and for those of small classes.

    Args:
        labels: shape (N,).
        folds: number of folds.
        least: samples that a class must have; fewer are never held out.
        generator: decides which sample is in which fold.
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
    """The fold of each sample, and which samples of fold 0 judge to the end; shape (N,).

    Args:
        folds: number of folds, and the samples that a class must have.
        judging: how many of how many samples of fold 0 judge to the end.
        generator: decides both.
    """
    fold = stratified_folds(labels, folds, folds, generator)
    first, (some, of) = (fold == 0).nonzero().flatten(), judging
    to_the_end = torch.zeros(len(labels), dtype=torch.bool)
    to_the_end[first[stratified_folds(labels[first], of, 1, generator) < some]] = True
    return fold, to_the_end

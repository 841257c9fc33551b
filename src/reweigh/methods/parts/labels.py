"""The labels of a training set, and what predictions say about them."""

import torch
from torch import Tensor

from reweigh.data import Dataset
from reweigh.issues.stock import (
    Stock,
    confident_joint,
    expected_shares,
    in_proportion,
    is_even,
    label_rows,
    learned_joint,
    take_stock,
    with_prior,
)
from reweigh.methods.parts.finding import Count, count_wrong
from reweigh.methods.parts.first_look import FirstPredictions


class Labels:
    """The labels of a training set, before and after a person corrected some of them.

    Attributes:
        given: shape (N, C), the labels to learn, as rows that sum to one.
        uncorrected: shape (N, C), the labels before any correction. They show how often labels are wrong, and between
            which classes.

    Args:
        vouched: indices of samples whose labels are beyond doubt, in addition to those that a person has checked.
    """

    def __init__(self, dataset: Dataset, vouched: Tensor | None = None):
        self.given = self.uncorrected = given_rows(dataset, dataset.labels)
        if dataset.uncorrected is not None:
            self.uncorrected = given_rows(dataset, dataset.uncorrected)
        self._known = (
            torch.zeros(len(dataset), dtype=torch.bool) if dataset.trusted is None else dataset.trusted.clone()
        )
        if vouched is not None:
            self._known[vouched] = True

    def judged(self, first: FirstPredictions, predictions: Tensor, latest: Tensor, weak: bool) -> tuple[Stock, Count]:
        """What is known about the labels, and how many are wrong; labels beyond doubt count as the true classes.

        The confident joint estimates which class is given for which. If a class is rare, it is averaged with an
        estimate from held-out samples (``learned_joint``).

        Args:
            predictions: shape (N, C), the best guess for each sample, as if all classes were equally frequent.
            latest: shape (N, C), logits of the last network, as if all classes were equally frequent.
            weak: whether the network is weak or classes are rare; see ``count_wrong``.
        """
        given, known, apart = self.uncorrected, first.known, first.unseen[first.known]
        if not len(known):  # none is held out
            known, apart = torch.arange(len(given)), first.best
        prior = expected_shares(apart, given[known])
        joint = own = confident_joint(with_prior(predictions, prior), given)
        if len(first.known) and not is_even(prior):
            joint = (own + in_proportion(learned_joint(apart, given[known], prior), given.sum(0))) / 2
        stock = take_stock(predictions, given, joint)
        stock = stock._replace(posterior=self._settled(stock.posterior))
        count = count_wrong(stock, own, prior, given, apart, known, latest, weak)
        return stock, count.after(given, self.given)

    def likely(self, transition: Tensor) -> Tensor:
        """Probability of the label of each sample for each true class, shape (N, C).

        Args:
            transition: shape (C, C), T(y | k); see ``Stock``.
        """
        return self._settled(self.uncorrected @ transition)

    def _settled(self, rows: Tensor) -> Tensor:
        return torch.where(self._known[:, None], self.given, rows)


def given_rows(dataset: Dataset, labels: Tensor) -> Tensor:
    """The given labels as rows that sum to one, shape (N, num_classes); all candidates of a sample count the same.

    Args:
        labels: shape (N,), labels of the samples without candidates and soft labels.
    """
    if dataset.candidates is not None:
        return dataset.candidates[:] / dataset.candidates.counts[:, None]
    if dataset.soft_labels is not None:
        return dataset.soft_labels.float()
    return label_rows(labels, dataset.num_classes)

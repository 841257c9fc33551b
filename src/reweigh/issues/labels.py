"""The labels of a training set, and what predictions say about them."""

from typing import NamedTuple

import torch
from torch import Tensor

from reweigh.issues.count import Count, count_wrong
from reweigh.issues.stock import (
    Stock,
    confident_joint,
    expected_shares,
    in_proportion,
    is_even,
    learned_joint,
    take_stock,
    with_prior,
)


class Labels(NamedTuple):
    """The labels of a training set, before and after a person corrected some of them.

    Attributes:
        given: Shape (N, C), the labels to learn, as rows that sum to one.
        uncorrected: Shape (N, C), the labels before any correction. They show how often labels are wrong, and between
            which classes.
        known: Shape (N,) bool, whether a label is beyond doubt.
    """

    given: Tensor
    uncorrected: Tensor
    known: Tensor

    def take_stock(
        self, predictions: Tensor, unseen: Tensor, held_out: Tensor, latest: Tensor, weak: bool
    ) -> tuple[Stock, Count]:
        """What is known about the labels, and how many are wrong; labels beyond doubt count as the true classes.

        The confident joint estimates which class is given for which. If a class is rare, it is averaged with an
        estimate from held-out samples (``learned_joint``). All predictions are as if classes were equally frequent.

        Args:
            predictions: Shape (N, C), the best guess for each sample.
            unseen: Shape (n, C), predictions for the samples ``held_out`` by models that did not see them.
            held_out: Shape (n,), indices of these samples; if there are none, ``predictions`` take their place.
            latest: Shape (N, C), logits of the last model.
            weak: Whether the model is weak or classes are rare; see ``count_wrong``.
        """
        given = self.uncorrected
        known, apart = (held_out, unseen) if len(held_out) else (torch.arange(len(given)), predictions)
        prior = expected_shares(apart, given[known])
        joint = own = confident_joint(with_prior(predictions, prior), given)
        if len(held_out) and not is_even(prior):
            joint = (own + in_proportion(learned_joint(apart, given[known], prior), given.sum(0))) / 2
        stock = take_stock(predictions, given, joint)
        stock = stock._replace(posterior=self._settled(stock.posterior))
        count = count_wrong(stock, own, prior, given, apart, known, latest, weak)
        return stock, count.after(given, self.given)

    def likely(self, transition: Tensor) -> Tensor:
        """Probability of the label of each sample for each true class, shape (N, C).

        Args:
            transition: Shape (C, C), T(y | k); see ``Stock``.
        """
        return self._settled(self.uncorrected @ transition)

    def _settled(self, rows: Tensor) -> Tensor:
        return torch.where(self.known[:, None], self.given, rows)

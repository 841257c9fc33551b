"""The labels of a training set, and what predictions say about them."""

from typing import NamedTuple

import torch
from torch import Tensor

from reweigh.issues.count import Count, EqualInputs, count_consensus, count_wrong
from reweigh.issues.labelers import even_confusion, weigh_votes
from reweigh.issues.stock import (
    Stock,
    at_once,
    confident_joint,
    credibility,
    expected_shares,
    in_proportion,
    is_even,
    learned_joint,
    take_stock,
    with_prior,
)
from reweigh.issues.votes import Votes


class Labels(NamedTuple):
    """The labels of a training set, before and after a person corrected some of them.

    Attributes:
        given: Shape (N, C), the labels to learn, as rows that sum to one.
        uncorrected: Shape (N, C), the labels before any correction. They show how often labels are wrong, and between
            which classes.
        known: Shape (N,) bool, whether a label is beyond doubt.
        votes: Labels by several labelers, whose consensus the labels are; None if there is one label per sample.
        equal: Samples with equal inputs; None if there are none.
    """

    given: Tensor
    uncorrected: Tensor
    known: Tensor
    votes: Votes | None = None
    equal: EqualInputs | None = None

    def take_stock(self, predictions: Tensor, unseen: Tensor, held_out: Tensor) -> tuple[Stock, Count]:
        """What is known about the labels, and how many are wrong; labels beyond doubt count as the true classes.

        The confident joint estimates which class is given for which. If a class is rare, it is averaged with an
        estimate from held-out samples (``learned_joint``). All predictions are as if classes were equally frequent.

        All labels are counted as they were before any was corrected, and those that were corrected leave the count. So
        it does not depend on which labels were decided about first, the worst or any.

        Args:
            predictions: Shape (N, C), the best guess for each sample.
            unseen: Shape (n, C), predictions for the samples ``held_out`` by models that did not see them.
            held_out: Shape (n,), indices of these samples; if there are none, ``predictions`` take their place.
        """
        if self.votes is not None:
            return self._stock_of_votes(self.votes, predictions, unseen, held_out)
        given = self.uncorrected
        index, apart = (held_out, unseen) if len(held_out) else (torch.arange(len(given)), predictions)
        prior = expected_shares(apart, given[index])
        joint = confident_joint(with_prior(predictions, prior), given)
        if len(held_out) and not is_even(prior):
            joint = (joint + in_proportion(learned_joint(apart, given[index], prior), given.sum(0))) / 2
        stock = take_stock(predictions, given, joint)
        corrected = (given != self.given).any(1)
        count = count_wrong(given, apart, index, prior, self.equal)
        count = count.after(int(corrected.sum()), int((~self.known).sum()), len(given))
        return stock._replace(posterior=self._settled(stock.posterior)), count

    def _stock_of_votes(
        self, votes: Votes, predictions: Tensor, unseen: Tensor, held_out: Tensor
    ) -> tuple[Stock, Count]:
        """The same for several labels per sample; what is counted is wrong consensus labels."""
        judged = len(held_out) > 0  # otherwise, nothing tells how good predictions are
        found = weigh_votes(votes, predictions, unseen, held_out) if judged else weigh_votes(votes)
        posterior = self._settled(found.posterior)
        joint = self.given.T @ posterior + even_confusion(0.9, posterior.shape[1])
        stock = Stock(posterior, joint, joint / joint.sum(0), found.prior, found.temperature, found)
        return stock, count_consensus(posterior, self.given)

    def likely(self, stock: Stock) -> Tensor:
        """Probability of the labels of each sample for each true class, shape (N, C); of votes up to a factor."""
        if self.votes is not None and stock.labelers is not None:
            return self._settled(stock.labelers.likely(self.votes))
        return self._settled(self.uncorrected @ stock.transition)

    def credible(self, predictions: Tensor, stock: Stock) -> Tensor:
        """How credible each label is, from 0 to 1, shape (N,).

        Args:
            predictions: Those of which stock was taken.
        """
        if self.votes is not None:
            return (self.given * stock.posterior).sum(1)
        rows = (each.split(at_once(stock.prior)) for each in (predictions, self.uncorrected, self.given))
        believed = [
            (given * credibility(some, before, stock)).sum(1) for some, before, given in zip(*rows, strict=True)
        ]
        return torch.where(self.known, self.given.square().sum(1), torch.cat(believed))

    def _settled(self, rows: Tensor) -> Tensor:
        return torch.where(self.known[:, None], self.given, rows)

"""The labels of a training set, and what predictions say about them."""

from typing import NamedTuple

import torch
from torch import Tensor

from reweigh.issues.count import Count, EqualInputs, count_consensus, count_wrong
from reweigh.issues.labelers import even_confusion, weigh_votes
from reweigh.issues.remaining import Remaining, remaining
from reweigh.issues.stock import (
    TINY,
    Stock,
    confident_joint,
    expected_shares,
    in_proportion,
    is_even,
    learned_joint,
    take_stock,
    with_prior,
)
from reweigh.issues.verdict import in_line_with
from reweigh.issues.votes import Votes

MAX_CHANGE = 2.0  # of doubts, by decisions about labels that were chosen
CHOSEN = 1.8  # times the mean doubt: decisions about labels of higher doubt were not about any labels


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
        if self.votes is not None:
            return self._stock_of_votes(self.votes, predictions, unseen, held_out)
        given = self.uncorrected
        known, apart = (held_out, unseen) if len(held_out) else (torch.arange(len(given)), predictions)
        prior = expected_shares(apart, given[known])
        joint = own = confident_joint(with_prior(predictions, prior), given)
        if len(held_out) and not is_even(prior):
            joint = (own + in_proportion(learned_joint(apart, given[known], prior), given.sum(0))) / 2
        stock = take_stock(predictions, given, joint)
        stock = stock._replace(posterior=self._settled(stock.posterior))
        count = count_wrong(stock, own, prior, given, apart, known, latest, weak, self.equal)
        if bool(self.known.any()):
            rows = predictions.index_copy(0, known, apart.to(predictions))
            left = self._left(take_stock(rows, given, joint).posterior, *count.in_all(given))
            count = count.after(left, given, self.given)
        return stock, count

    def _left(self, posterior: Tensor, share: float, low: float, high: float) -> Remaining:
        """How many labels are wrong among those that nobody has decided about.

        Doubts come from models that did not see the label, so that they are the same whether it was decided about or
        not, and add up to the number of wrong labels. Decisions about any labels, such as those of an audit, also show
        how far doubts are right. Decisions about the worst show that less well, since these were chosen by earlier
        doubts: the doubts are multiplied by the number of wrong labels found for each one expected, within limits.

        Args:
            posterior: Shape (N, C), from predictions made without the label.
            share: Share of wrong labels before any decision, as counted, and its limits ``low`` and ``high``.
        """
        doubt = 1 - in_line_with(share, (self.uncorrected * posterior).sum(1))
        wrong = (self.uncorrected != self.given).any(1)[self.known]
        if float(doubt[self.known].mean()) > CHOSEN * float(doubt.mean()):
            found, expected = float(wrong.sum()), float(doubt[self.known].sum())
            left = float(doubt[~self.known].sum()) * min(max(found / expected, 1 / MAX_CHANGE), MAX_CHANGE)
            return Remaining(left, left * low / max(share, TINY), left * high / max(share, TINY))
        return remaining(doubt.numpy(), self.known.nonzero().flatten().numpy(), wrong.numpy())

    def _stock_of_votes(
        self, votes: Votes, predictions: Tensor, unseen: Tensor, held_out: Tensor
    ) -> tuple[Stock, Count]:
        """The same for several labels per sample; what is counted is wrong consensus labels."""
        found = weigh_votes(votes, predictions, unseen, held_out)
        posterior = self._settled(found.posterior)
        joint = self.given.T @ posterior + even_confusion(0.9, posterior.shape[1])
        stock = Stock(posterior, joint, joint / joint.sum(0), found.prior, found.temperature, found)
        return stock, count_consensus(posterior, self.given)

    def likely(self, stock: Stock) -> Tensor:
        """Probability of the labels of each sample for each true class, shape (N, C); of votes up to a factor."""
        if self.votes is not None and stock.labelers is not None:
            return self._settled(stock.labelers.likely(self.votes))
        return self._settled(self.uncorrected @ stock.transition)

    def _settled(self, rows: Tensor) -> Tensor:
        return torch.where(self.known[:, None], self.given, rows)

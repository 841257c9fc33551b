"""What a classifier that was fitted to votes of several labelers knows about them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reweigh.errors import DataError
from reweigh.fit import Fit
from reweigh.issues.consensus import consensus_table, labeler_table, next_votes, vote_table
from reweigh.issues.labelers import Labelers, first_consensus
from reweigh.issues.votes import Votes

if TYPE_CHECKING:
    import pandas as pd


def as_votes(y: Any) -> Votes | None:
    """The labels as votes of several labelers; None if there is one label per sample, or y holds soft labels.

    An array of two or more columns is taken as votes if it has gaps, strings, or whole numbers other than 0 and 1.
    Zeros and ones alone may also be a mask or soft labels, so that these must be passed as ``Votes.of(y)``.
    """
    if isinstance(y, Votes):
        return y
    if isinstance(y, Mapping):
        return Votes.of(y)
    if not hasattr(y, "shape") or len(y.shape) != 2 or y.shape[1] < 2 or hasattr(y, "tocsr"):
        return None
    array = np.asarray(y.detach().cpu() if isinstance(y, torch.Tensor) else y)
    if array.dtype.kind in "iuf":
        there = array[~np.isnan(array)] if array.dtype.kind == "f" else array.ravel()
        gaps = there.size < array.size or bool((there == -1).any())
        if (there % 1 != 0).any() or not (gaps or (there > 1).any()):
            return None
    if array.dtype.kind == "b":
        return None
    votes = Votes.of(y)
    if len(votes) == array.size and int(votes.tally().max()) == 1:  # abstaining rules may never agree, people do
        raise DataError(
            f"y: shape {tuple(y.shape)}, but no sample has the same label in two columns, so that they are not labels "
            "by several labelers; pass one label per sample"
        )
    return votes


def labels_or_votes(y: Any) -> Any:
    """The labels as they are, or ``Votes`` of two labelers or more; the votes of one are labels."""
    votes = as_votes(y)
    if votes is None:
        return y
    return votes.only_column() if len(votes.labelers) == 1 else first_consensus(votes)[0]


def of_all_rows(found: Fit, votes: Votes, predicted: Callable[[], np.ndarray]) -> Fit:
    """The fit with all samples, also those without votes, which were not trained on.

    Args:
        votes: The votes for all samples.
        predicted: Gives the probabilities of all samples, shape (N, C), which those without votes have.
    """
    assert found.labelers is not None
    posterior = found.labelers.posterior
    if len(posterior) < votes.samples:
        posterior = torch.from_numpy(predicted()).float().index_copy(0, found.origin, posterior)
    samples = found.samples.among(found.origin, posterior.argmax(1))
    labelers = found.labelers._replace(posterior=posterior)
    return replace(found, samples=samples, origin=torch.arange(votes.samples), votes=votes, labelers=labelers)


class NoVotesError(DataError, AttributeError):
    """The classifier was not fitted to votes; also an AttributeError, so that ``hasattr`` is false."""


class Voting:
    """Gives a classifier what is known about labelers, if it was fitted to votes of several."""

    def _voted(self: Any) -> tuple[Votes, Labelers]:
        found = getattr(self, "_fit", None)
        if found is None or found.votes is None or found.labelers is None:
            raise NoVotesError("there are no votes of several labelers: fit(X, votes) first, one column per labeler")
        return found.votes, found.labelers

    def _named(self: Any, rows: Any) -> Any:
        return rows if self._learned.index is None else self._learned.index.take(np.asarray(rows))

    @property
    def consensus_(self: Any) -> "pd.DataFrame":
        """The consensus of the labelers and the classifier for each sample: label, probability, votes and agree.

        ``agree`` is the number of votes for the label. Samples without a vote have the label that is predicted.
        """
        votes, found = self._voted()
        table = consensus_table(votes, found.posterior)
        return table.set_axis(self._named(table.index))

    @property
    def labelers_(self: Any) -> "pd.DataFrame":
        """One row per labeler: votes, accuracy with its 90 % limits low and high, agreement, trust, mistakes, repeats.

        The accuracy is the estimated share of the labeler's own votes that are right; trust is what is expected of the
        next one, shrunken toward all labelers; agreement is that with the consensus.
        """
        return labeler_table(*self._voted())

    @property
    def vote_issues_(self: Any) -> "pd.DataFrame":
        """One row per vote, the least credible first: sample, labeler, label, suggested_label and quality."""
        table = vote_table(*self._voted())
        return table.assign(sample=self._named(table["sample"]))

    def next_labels(self: Any, n: int = 100, cost: Mapping[str, float] | None = None) -> "pd.DataFrame":
        """Which samples need another label, and from whom: the best first, at most one row per sample.

        Args:
            n: Number of samples.
            cost: Cost of a label by each labeler who can be asked, such as ``{"ann": 1, "expert": 10}``; None asks all
                at the same cost.

        Returns:
            Columns ``sample``, ``labeler`` and ``gain``, the expected gain in accuracy of the consensus for the cost.

        Raises:
            DataError: There are no votes, n or a cost is not positive, or there is no such labeler.
        """
        votes, found = self._voted()
        table = next_votes(votes, found, found.posterior, n, cost)
        return table.assign(sample=self._named(table["sample"]))

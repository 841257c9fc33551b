"""Labels from several labelers: people, rules or models, each with labels for some of the samples."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from reweigh.errors import DataError
from reweigh.names import listed, plural

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)
GAPS = ("", "-1")  # strings that mean no label, besides None and NaN
MAX_SUM_ERROR = 1e-3  # of a row of probabilities


@dataclass(frozen=True, eq=False)
class Votes:
    """Labels by several labelers, of whom each may label only some samples.

    Examples:
        >>> votes = Votes.of({"ann": ["cat", "dog", None], "bob": ["cat", "cat", "dog"]})
        >>> votes
        Votes(5 votes by 2 labelers for 3 samples, 2 classes)
        >>> votes.labelers, votes.classes.tolist()
        (('ann', 'bob'), ['cat', 'dog'])

    Attributes:
        samples: N, the number of samples.
        labelers: Names of the labelers.
        classes: Shape (C,), the labels as the user writes them, sorted.
        sample: Shape (V,), the sample of each vote, ascending.
        labeler: Shape (V,), the labeler of each vote.
        label: Shape (V,), class number of each vote; of a soft vote the likeliest.
        soft: Shape (V, C), rows that sum to one; None if all votes are plain labels.
    """

    samples: int
    labelers: tuple[str, ...]
    classes: np.ndarray
    sample: Tensor
    labeler: Tensor
    label: Tensor
    soft: Tensor | None = None

    def __repr__(self) -> str:
        return (
            f"Votes({len(self)} votes by {len(self.labelers)} labelers for {self.samples} samples, "
            f"{len(self.classes)} classes)"
        )

    def __len__(self) -> int:
        return len(self.label)

    @classmethod
    def of(cls, columns: Any) -> "Votes":
        """Votes from one column per labeler.

        Args:
            columns: A DataFrame or an array, N x M, whose gaps are None, NaN, -1 or an empty string; or a dict from the
                name of a labeler to its column, which may be an N x C DataFrame of probabilities of the classes.

        Raises:
            DataError: Columns have different lengths, or there is no vote at all.
        """
        import pandas as pd

        if isinstance(columns, Mapping):
            named = dict(columns)
        else:
            frame = columns if isinstance(columns, pd.DataFrame) else pd.DataFrame(np.asarray(columns))
            named = {name: frame.iloc[:, place] for place, name in enumerate(frame.columns)}
            if len(named) < frame.shape[1]:
                twice = frame.columns[frame.columns.duplicated()].unique().tolist()
                raise DataError(f"votes: columns {listed(map(repr, twice))} occur more than once; name each labeler")
        lengths = {str(name): len(column) for name, column in named.items()}
        if len(set(lengths.values())) != 1:
            raise DataError(f"votes: columns of different lengths, {lengths}; give each one entry per sample")
        tables = {name: column for name, column in named.items() if np.ndim(column) == 2}
        parts = []
        for place, (name, column) in enumerate(named.items()):
            if name not in tables:
                values = np.asarray(column, dtype=object)
                rows = np.flatnonzero(has_label(values))
                parts.append(pd.DataFrame({"sample": rows, "labeler": place, "label": values[rows]}))
        table = pd.concat([*parts, *_of_tables(tables, list(named))], ignore_index=True)
        known, soft = table["label"].to_numpy(), None
        extra = [each for column in tables.values() for each in getattr(column, "columns", range(column.shape[1]))]
        classes, numbers = _numbered(known, extra)
        if tables:
            soft = torch.nn.functional.one_hot(torch.from_numpy(numbers), len(classes)).float()
            place_of = {value: place for place, value in enumerate(classes.tolist())}
            order = list(named)
            for name, column in tables.items():
                its = np.flatnonzero(table["labeler"].to_numpy() == order.index(name))
                rows = np.asarray(column, dtype=np.float32)[table["sample"].to_numpy()[its]]
                places = [place_of[each] for each in getattr(column, "columns", range(column.shape[1]))]
                soft[its] = 0
                soft[its[:, None], torch.tensor(places)] = torch.from_numpy(rows)
        sample, labeler = (table[name].to_numpy(np.int64) for name in ("sample", "labeler"))
        names = [str(name) for name in named]
        return _sorted(next(iter(lengths.values())), names, classes, sample, labeler, numbers, soft)

    @classmethod
    def from_long(
        cls,
        table: "pd.DataFrame",
        samples: Any,
        *,
        sample: str = "sample",
        labeler: str = "labeler",
        label: str = "label",
        confidence: str | None = None,
    ) -> "Votes":
        """Votes from a table with one row per vote.

        >>> import pandas as pd
        >>> table = pd.DataFrame({"sample": [0, 0, 2], "labeler": ["ann", "bob", "ann"], "label": ["A", "B", "B"]})
        >>> Votes.from_long(table, samples=3)
        Votes(3 votes by 2 labelers for 3 samples, 2 classes)

        Args:
            table: The votes. If a labeler has two for a sample, the last one counts.
            samples: The number of samples, whose names are then 0, 1, ...; or their names in the order of X.
            sample: Column with the name of the sample.
            labeler: Column with the name of the labeler.
            label: Column with the label; rows without one are left out.
            confidence: Column with the probability, from 0 to 1, that the labeler gives to its label; None if there is
                none. An empty cell means 1.

        Raises:
            DataError: A column is missing, a sample does not exist, or a confidence is not from 0 to 1.
        """
        import pandas as pd

        wanted = [sample, labeler, label, *([confidence] if confidence else [])]
        if missing := [name for name in wanted if name not in table.columns]:
            raise DataError(
                f"votes: no column {listed(map(repr, missing))}; there are: {listed(map(repr, table.columns))}"
            )
        kept: Any = table[has_label(table[label].to_numpy(object)) & table[labeler].notna().to_numpy()]
        names = pd.Index(range(samples) if isinstance(samples, int) else list(samples))
        if names.has_duplicates:
            twice = names[names.duplicated()].unique().tolist()
            raise DataError(f"votes: samples {listed(map(repr, twice))} occur more than once; give each its own name")
        places = names.get_indexer(pd.Index(kept[sample]))
        if (places < 0).all() and len(kept):  # a file's strings for a table's numbers, or the reverse
            places = names.astype(str).get_indexer(pd.Index(kept[sample]).astype(str))
        if (unknown := places < 0).any():
            strange = kept[sample][unknown].unique().tolist()
            raise DataError(
                f"votes: {int(unknown.sum())} of {len(kept)} votes are for samples that do not exist: "
                f"{listed(map(repr, strange))}; drop them, or name the samples as in the data"
            )
        codes, workers = pd.factorize(kept[labeler], sort=True)
        kept = kept.assign(_place=places, _who=codes)
        last = ~kept.duplicated(["_place", "_who"], keep="last").to_numpy()
        if again := int((~last).sum()):
            log.warning("votes: %s by a labeler who voted on the sample before; the last counts", plural(again, "vote"))
        kept = kept[last]
        classes, numbers = _numbered(kept[label].to_numpy(object))
        soft = None
        if confidence:
            numbers_or_nan: Any = pd.to_numeric(kept[confidence], errors="coerce")
            sure = numbers_or_nan.where(kept[confidence].notna(), 1.0).to_numpy(copy=True)
            if (bad := ~((sure >= 0) & (sure <= 1))).any():
                raise DataError(
                    f"votes: {plural(int(bad.sum()), 'confidence')} not from 0 to 1, such as "
                    f"{kept[confidence][bad].iloc[0]}; divide percentages by 100"
                )
            rest = torch.from_numpy((1 - sure) / max(1, len(classes) - 1)).float()
            soft = rest[:, None].repeat(1, len(classes))
            soft[torch.arange(len(soft)), torch.from_numpy(numbers)] = torch.from_numpy(sure).float()
        who = [str(name) for name in workers]
        return _sorted(
            len(names), who, classes, kept["_place"].to_numpy(), kept["_who"].to_numpy(np.int64), numbers, soft
        )

    @property
    def counts(self) -> Tensor:
        """Number of votes for each sample, shape (N,)."""
        return torch.bincount(self.sample, minlength=self.samples)

    def __getitem__(self, index: Tensor) -> "Votes":
        """The votes for the samples at ``index``, which become samples 0, 1, ...; each may occur once."""
        place = torch.full((self.samples,), -1)
        place[index] = torch.arange(len(index))
        new = place[self.sample]
        kept = (new >= 0).nonzero().flatten()
        kept = kept[new[kept].argsort(stable=True)]
        soft = None if self.soft is None else self.soft[kept]
        return replace(
            self, samples=len(index), sample=new[kept], labeler=self.labeler[kept], label=self.label[kept], soft=soft
        )

    def in_words(self) -> list[str]:
        """Who said what about each sample, N strings."""
        said: list[list[str]] = [[] for _ in range(self.samples)]
        votes = zip(self.sample.tolist(), self.labeler.tolist(), self.classes[self.label.numpy()].tolist(), strict=True)
        for sample, labeler, label in votes:
            said[sample].append(f"{self.labelers[labeler]}: {label}")
        return [", ".join(each) for each in said]

    def among(self, classes: np.ndarray, place: Tensor) -> "Votes":
        """The votes with other classes; those for a class without a place are left out.

        Args:
            classes: Shape (K,), the new classes.
            place: Shape (C,), number of each class among the new ones; -1 if it is not one of them.
        """
        kept = (place[self.label] >= 0).nonzero().flatten()
        soft = None
        if self.soft is not None:
            known = (place >= 0).nonzero().flatten()
            soft = torch.zeros(len(kept), len(classes)).index_add_(1, place[known], self.soft[kept][:, known])
            soft /= soft.sum(1, keepdim=True)
        return replace(
            self,
            classes=classes,
            sample=self.sample[kept],
            labeler=self.labeler[kept],
            label=place[self.label[kept]],
            soft=soft,
        )

    def only_column(self) -> np.ndarray:
        """The labels of the only labeler, shape (N,); its soft votes if there are any, shape (N, C).

        Raises:
            DataError: A sample has no vote.
        """
        if missing := int((self.counts == 0).sum()):
            raise DataError(f"votes: one labeler, and {missing} of {self.samples} samples have no label; drop these")
        return self.classes[self.label.numpy()] if self.soft is None else self.soft.numpy()

    def tally(self) -> Tensor:
        """Sum of the votes for each class, shape (N, C)."""
        rows = torch.zeros(self.samples, len(self.classes))
        if self.soft is None:
            return rows.index_put_((self.sample, self.label), torch.ones(len(self)), accumulate=True)
        return rows.index_add_(0, self.sample, self.soft)


def check_votes(votes: Votes) -> None:
    """Raise a ValueError if votes from a file do not fit each other."""
    for values, number in (
        (votes.sample, votes.samples),
        (votes.labeler, len(votes.labelers)),
        (votes.label, len(votes.classes)),
    ):
        if values.dtype != torch.int64 or values.shape != votes.label.shape:
            raise ValueError("votes of several lengths or types")
        if len(values) and (int(values.min()) < 0 or int(values.max()) >= number):
            raise ValueError(f"a vote is not within 0 to {number - 1}")


def has_label(values: np.ndarray) -> np.ndarray:
    """Which values are labels, not gaps, shape (N,) bool."""
    import pandas as pd

    strings = pd.Series(values, dtype=object).astype(str).str.strip()
    return (~pd.isna(values)) & ~strings.isin(GAPS).to_numpy() & ~strings.isin(["-1.0"]).to_numpy()


def _of_tables(tables: Mapping[Any, Any], order: Sequence[Any]) -> "list[pd.DataFrame]":
    """The likeliest class of each row of probabilities; rows of NaN are gaps."""
    import pandas as pd

    found = []
    for name, column in tables.items():
        rows = np.asarray(column, dtype=np.float64)
        there = np.flatnonzero(~np.isnan(rows).all(1))
        wrong = there[~(np.abs(rows[there].sum(1) - 1) <= MAX_SUM_ERROR) | (rows[there] < 0).any(1)]
        if len(wrong):
            raise DataError(
                f"votes: {name!r} has a row of probabilities that do not sum to 1, or are below 0: rows {listed(wrong)}"
            )
        names = np.asarray(getattr(column, "columns", range(rows.shape[1])), dtype=object)
        label = names[rows[there].argmax(1)] if len(there) else names[:0]
        found.append(pd.DataFrame({"sample": there, "labeler": order.index(name), "label": label}))
    return found


def _numbered(labels: np.ndarray, extra: Sequence[Any] = ()) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels, sorted, and the number of each; whole numbers among floats, as gaps make them, are whole."""
    values = [*labels.tolist(), *extra]
    if not len(labels):
        raise DataError("votes: there are none; give at least one labeler with labels")
    if all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values):
        numbers = np.array(values, dtype=np.float64)
        if (numbers % 1 != 0).any():
            raise DataError(f"votes: numbers such as {numbers[numbers % 1 != 0][0]:.6g} are quantities, not classes")
        array = numbers.astype(np.int64)
    elif all(isinstance(value, bool | np.bool_) for value in values):
        array = np.array(values, dtype=bool)
    else:
        array = np.array([str(value).strip() for value in values])
    classes, inverse = np.unique(array, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"votes: all are for one class, {classes.tolist()[0]!r}; a classifier needs two or more")
    return classes, inverse[: len(labels)].astype(np.int64)


def _sorted(
    samples: int,
    labelers: Sequence[str],
    classes: np.ndarray,
    sample: np.ndarray,
    labeler: np.ndarray,
    label: np.ndarray,
    soft: Tensor | None,
) -> Votes:
    order = np.lexsort((labeler, sample))
    silent = sorted(set(range(len(labelers))) - set(labeler.tolist()))
    if silent:
        log.warning("votes: labelers without any vote: %s", listed([labelers[place] for place in silent]))
    parts = (torch.from_numpy(np.asarray(each, dtype=np.int64)[order]) for each in (sample, labeler, label))
    soft = None if soft is None else soft[torch.from_numpy(order)]
    return Votes(samples, tuple(labelers), classes, *parts, soft=soft)

"""An audit: a person decides about a few labels drawn at random, which shows how many of all labels are wrong."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reweigh.errors import DataError
from reweigh.names import plural

if TYPE_CHECKING:
    import pandas as pd

STRATA = 6
MIN_DOUBT = 0.1  # as far as the chance to be drawn is concerned, since labels that look right may well be wrong
SUPPOSED = 0.5  # decisions that are added to each stratum, with the share of wrong labels of all drawn ones
Z90 = 1.645  # standard deviations on either side of a 90 % interval
MIN_CLASS_DECISIONS = 10
AUDIT_SEED = 20_220_206  # its own: a small one may have chosen the wrong labels of an experiment too
DRAWS = 4000  # of two shares, for the interval of a third that follows from them


class Estimate(NamedTuple):
    """A share, and the limits between which it lies with a probability of 90 percent."""

    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return "{} ({} to {})".format(*(f"{each:.{_decimals(each)}%}" for each in self))


def _decimals(share: float) -> int:
    return 1 if 0.0005 <= share < 0.095 else 0


class Audited(NamedTuple):
    """What an audit found.

    Attributes:
        labels: Number of all labels.
        decided: Number of labels drawn and decided about.
        unsure: Number of labels drawn on which nobody is sure, or people disagree. They count as right in the lower
            limits, and as wrong in the upper ones.
        wrong: Share of wrong labels.
        precision: Share of the labels that look wrong which are wrong; None if none of them was drawn.
        recall: Share of the wrong labels which look wrong; None if unknown.
        classes: Share of wrong labels of each given class with at least 10 decisions.
        more: Number of further decisions that would halve the interval.
    """

    labels: int
    decided: int
    unsure: int
    wrong: Estimate
    precision: Estimate | None
    recall: Estimate | None
    classes: Mapping[Any, Estimate]
    more: int

    @property
    def claim(self) -> str:
        """How many labels are wrong, in a sentence."""
        return (
            f"Audited: {self.wrong} of the {self.labels:,} labels are wrong, with 90% confidence, by "
            f"{plural(self.decided, 'decision')} about labels drawn at random."
        )

    def __str__(self) -> str:
        """The result in a few sentences."""
        words = [self.claim]
        if self.unsure:
            words.append(f"On {self.unsure:,} more, nobody is sure or people disagree; the limits allow for both.")
        if self.precision is not None:
            words.append(f"Of the labels that look wrong, {self.precision} are.")
        if self.recall is not None:
            words.append(f"Of the wrong labels, {self.recall} look wrong.")
        if self.more:
            words.append(f"{plural(self.more, 'more decision')} would halve the interval.")
        return " ".join(words)


class Audit:
    """Labels to decide about, in the order in which they are drawn, and what follows for all labels.

    Labels are sorted by doubt (1 - quality) and cut into six strata of the same expected spread, the sum of
    sqrt(doubt (1 - doubt)). Strata are drawn from in turn, at random within each. So doubtful labels are drawn more
    often, every label has a chance, and an audit can be stopped and continued at any place.

    Examples:
        >>> quality = np.r_[np.full(90, 0.95), np.full(10, 0.2)]
        >>> audit = Audit(quality, quality < 0.5, np.zeros(100, int))
        >>> first = audit.order[:30]  # look at these
        >>> found = audit.estimate(first >= 92)  # 8 of the 10 labels that look wrong are wrong, and no others
        >>> found.decided, found.wrong.low <= 0.08 <= found.wrong.high
        (30, True)

    Args:
        quality: Shape (N,), how credible each label is, from 0 to 1.
        flagged: Shape (N,) bool, whether it looks wrong.
        given: Shape (N,), the given labels.
        known: Shape (N,), 1 or 0 for a label that is known to be wrong or right and need not be drawn, NaN for the
            others. None if none is known.

    Raises:
        DataError: There are no labels.
    """

    def __init__(self, quality: Any, flagged: Any, given: Any, known: Any = None):
        doubt = 1 - np.nan_to_num(np.asarray(quality, float), nan=0.5)
        if len(doubt) == 0:
            raise DataError("audit: there are no labels to draw from")
        self.flagged, self.given = np.asarray(flagged, bool), np.asarray(given)
        self._known = np.full(len(doubt), np.nan) if known is None else np.asarray(known, float)
        self._stratum = np.full(len(doubt), STRATA)  # the last one is known as a whole
        unknown = np.flatnonzero(np.isnan(self._known))
        unknown = unknown[np.argsort(doubt[unknown], kind="stable")]
        clipped = np.clip(doubt[unknown], MIN_DOUBT, 1 - MIN_DOUBT)
        spread = np.cumsum(np.sqrt(clipped * (1 - clipped)))
        self._stratum[unknown] = np.ceil(spread / spread[-1:] * STRATA - 1e-9).astype(int) - 1
        mixed = np.random.default_rng(AUDIT_SEED).permutation(unknown)
        by_stratum = mixed[np.argsort(self._stratum[mixed], kind="stable")]
        sizes = np.bincount(self._stratum[unknown], minlength=STRATA)
        turn = np.arange(len(unknown)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # 0, 1, ... within each stratum
        self.order = by_stratum[np.lexsort((-self._stratum[by_stratum], turn))]

    def __len__(self) -> int:
        return len(self.given)

    def estimate(self, wrong: Sequence[float] | np.ndarray, names: Sequence[Any] | None = None) -> Audited:
        """What decisions about the first labels in ``order`` say about all labels.

        Args:
            wrong: Shape (n,), whether each of the first n labels is wrong; NaN if nobody is sure.
            names: Names of the classes; by default the labels themselves.

        Raises:
            DataError: No label was decided about, or there are more decisions than labels.
        """
        answers = np.asarray(wrong, float)
        if len(answers) > len(self.order):
            raise DataError(f"audit: {len(answers):,} decisions about {len(self.order):,} labels")
        found, drawn = self._known.copy(), ~np.isnan(self._known)
        found[self.order[: len(answers)]] = answers
        drawn[self.order[: len(answers)]] = True
        share = self._share(found, drawn, np.ones(len(self), bool))
        if share is None:
            raise DataError("audit: no label was decided about yet")
        classes, counts = np.unique(self.given[drawn], return_counts=True)
        by_class = {
            (label if names is None else names[label]): found_there
            for label, count in zip(classes.tolist(), counts.tolist(), strict=True)
            if count >= MIN_CLASS_DECISIONS and (found_there := self._share(found, drawn, self.given == label))
        }
        decided, left = int((~np.isnan(answers)).sum()), len(self.order)
        precision, recall = self._share(found, drawn, self.flagged), self._recall(found, drawn)
        return Audited(
            labels=len(self),
            decided=decided,
            unsure=len(answers) - decided,
            wrong=share,
            precision=precision,
            recall=recall,
            classes=by_class,
            more=math.ceil(4 / (3 / left + 1 / decided)) - decided if left else 0,  # 1/n - 1/N becomes a quarter
        )

    def _share(self, found: np.ndarray, drawn: np.ndarray, within: np.ndarray) -> Estimate | None:
        """Share of wrong labels among those ``within``, shape (N,) bool; None if none of these was decided about."""
        sure = drawn & ~np.isnan(found)
        share = self._wilson(found, sure, within)[0]
        if math.isnan(share):
            return None
        low = self._wilson(np.nan_to_num(found, nan=0.0), drawn, within)[1]
        high = self._wilson(np.nan_to_num(found, nan=1.0), drawn, within)[2]
        return Estimate(share, min(low, share), max(high, share))

    def _wilson(self, found: np.ndarray, drawn: np.ndarray, within: np.ndarray) -> tuple[float, float, float, float]:
        """A share, its limits, and the number of independent draws that it is worth.

            share     =  sum_h  size_h / N  wrong_h / drawn_h                                  (Horvitz-Thompson)
            variance  =  sum_h (size_h / N)^2  p_h (1 - p_h) / drawn_h  (1 - drawn_h / size_h)
            worth     =  p (1 - p) / variance

        and the limits are those of Wilson for a share of that many draws (Franco et al., 2019). In the variance, p_h
        is the share in the stratum with half a decision more that looks like all, so that a stratum without a wrong
        label is not taken for sure. A stratum of which nothing was drawn counts to its neighbor.
        """
        size, number, wrong = self._by_stratum(found, drawn & within, within)
        if not number.sum():
            return math.nan, 0.0, 1.0, 0.0
        weight = size / size.sum()
        share = float(weight @ (wrong / number))
        supposed = np.clip(wrong.sum(), 0.5, number.sum() - 0.5) / number.sum()
        smooth = (wrong + SUPPOSED * supposed) / (number + SUPPOSED)
        variance = float(weight**2 @ (smooth * (1 - smooth) / number * (1 - number / size)))
        if variance == 0:  # all are decided about
            return share, share, share, math.inf
        mean = float(weight @ smooth)
        worth = mean * (1 - mean) / variance
        middle = (share + Z90**2 / (2 * worth)) / (1 + Z90**2 / worth)
        half = Z90 / (1 + Z90**2 / worth) * math.sqrt(share * (1 - share) / worth + Z90**2 / (4 * worth**2))
        least, most = wrong.sum() / size.sum(), 1 - (number - wrong).sum() / size.sum()
        return share, max(middle - half, float(least)), min(middle + half, float(most)), worth

    def _by_stratum(self, found: np.ndarray, drawn: np.ndarray, within: np.ndarray) -> tuple[np.ndarray, ...]:
        """Size, number of draws and of wrong labels among these, of every stratum from which something was drawn."""
        counts = np.stack(
            [
                np.bincount(self._stratum[within], minlength=STRATA + 1),
                np.bincount(self._stratum[drawn], minlength=STRATA + 1),
                np.bincount(self._stratum[drawn], found[drawn], minlength=STRATA + 1),
            ]
        )
        merged = [np.zeros(3)]
        for stratum in counts[:, :STRATA].T:
            if merged[-1][1]:
                merged.append(np.zeros(3))
            merged[-1] = merged[-1] + stratum
        if len(merged) > 1 and not merged[-1][1]:
            last = merged.pop()
            merged[-1] = merged[-1] + last
        if merged[0][0] and not merged[0][1]:  # nothing was drawn, so what was known before stands for itself alone
            return np.ones(1), np.zeros(1), np.zeros(1)
        size, number, wrong = np.array([each for each in (*merged, counts[:, STRATA]) if each[0]] or [np.zeros(3)]).T
        return size, number, wrong

    def _recall(self, found: np.ndarray, drawn: np.ndarray) -> Estimate | None:
        """Share of the wrong labels that look wrong."""
        random, sure = np.random.default_rng(0), drawn & ~np.isnan(found)
        parts = []  # numbers of wrong labels that look wrong and that do not: the estimate, and draws around it
        for within in (self.flagged, ~self.flagged):
            share, *_, worth = self._wilson(found, sure, within) if within.any() else (0.0, math.inf)
            if math.isnan(share):
                return None
            counts = share * min(worth, 1e9) + 0.5, (1 - share) * min(worth, 1e9) + 0.5
            parts.append(np.r_[share, random.beta(*counts, DRAWS)] * within.sum())
        if parts[0][0] + parts[1][0] == 0:
            return None
        share, *draws = parts[0] / (parts[0] + parts[1])
        low, high = np.quantile(draws, (0.05, 0.95))
        return Estimate(float(share), float(min(low, share)), float(max(high, share)))


class LabelAudit:
    """The labels of a table to decide about, and what the decisions say; see ``Audit``.

    Examples:
        >>> import pandas as pd
        >>> issues = pd.DataFrame({"given_label": ["cat", "dog"] * 50, "label_quality": 0.9, "is_label_issue": False})
        >>> audit = LabelAudit(issues, n=20)
        >>> len(audit.rows)  # rows of the table whose labels to check
        20
        >>> print(audit.estimate(issues.given_label[audit.rows]).wrong)  # they are all right
        0% (0% to 10%)

    Args:
        issues: What ``find_label_issues`` returns, or ``label_issues_`` of a fitted classifier.
        n: Number of labels to decide about.

    Raises:
        DataError: There are no labels, or n is not a positive number.
    """

    def __init__(self, issues: "pd.DataFrame", n: int = 100):
        if n < 1:
            raise DataError(f"n: got {n}; give the number of labels to decide about, such as 100")
        judged = issues[issues["label_quality"].notna()]
        self._audit = Audit(*(np.asarray(judged[name]) for name in ("label_quality", "is_label_issue", "given_label")))
        self._drawn = self._audit.order[:n]
        self.rows = judged.index.take(self._drawn).tolist()

    def estimate(self, labels: Sequence[Any]) -> Audited:
        """What the right labels say about all labels.

        Args:
            labels: The right label of each row in ``rows``, or of the first of them; None if nobody is sure.
        """
        if len(labels) > len(self.rows):
            raise DataError(f"labels: {len(labels):,}, but {len(self.rows):,} were drawn; give one per row in rows")
        given = self._audit.given[self._drawn]
        return self._audit.estimate(
            [math.nan if right is None else right != old for right, old in zip(labels, given, strict=False)]
        )

"""Which labels of a fitted classifier to look at first: on the review page, and in a notebook."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from reweigh.plan import Plan
from reweigh.training.result import as_html

if TYPE_CHECKING:
    import pandas as pd

    from reweigh.review import Review

WORST = 5


class Reviewing:
    """Gives a classifier its method ``review``."""

    def review(self: Any, X: Any, file: str | Path = "decisions.jsonl", reviewer: str | None = None) -> "Review":
        """Serve a page on this computer to check the suspicious labels; its address is shown.

            review = classifier.review(X)
            review.address                   # open it in a browser
            y_new, checked = review.labels() # with the decisions so far
            review.stop()

        Needs the extra ``review``.

        Args:
            X: Samples that the classifier was fitted to.
            file: File to which each decision is written at once; an existing file is continued.
            reviewer: Name of the reviewer, stored with the decisions; by default the name of the user.

        Raises:
            DataError: X holds other samples, or the extra is not installed.
        """
        from reweigh.review import Review, of_fit

        check_is_fitted(self)
        frame = X if hasattr(X, "iloc") and hasattr(X, "columns") else None
        subject = of_fit(self._fit, self._samples(X), frame, Path(file), self.classes_.tolist())
        return Review(subject, reviewer).start()


def trained_html(plan: Plan, issues: "pd.DataFrame") -> str:
    """The number of suspicious labels, and the worst of them.

    Args:
        issues: All training samples, the worst label first.
    """
    columns = ["given_label", "suggested_label", "label_quality"]
    wrong = issues.loc[issues["is_label_issue"], columns]
    share = f"{len(wrong):,} of {issues['label_quality'].count():,} labels look wrong"
    how = f"{plan.method.name}, {plan.train['epochs']} epochs on {len(issues):,} samples"
    heads = ["row of X", "given label", "suggested label", "label quality"]
    rows = list(wrong.head(WORST).itertuples())
    more = "All of them: label_issues_. The learned function: plot_weighting()." if rows else ""
    return as_html(f"{how}; {share} (judged {plan.train['scoring']})", heads, rows, more)

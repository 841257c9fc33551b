"""What a notebook shows of a trained classifier: what it learned, and which labels to look at first."""

from typing import TYPE_CHECKING

from reweigh.training.notebook import as_html

if TYPE_CHECKING:
    import pandas as pd

WORST = 5


def trained_html(method: str, epochs: int, issues: "pd.DataFrame", scoring: str) -> str:
    """The number of suspicious labels, and the worst of them.

    Args:
        issues: all training samples, the worst label first.
        scoring: what they were judged by.
    """
    columns = ["index", "given_label", "suggested_label", "label_quality"]
    wrong = issues.loc[issues["is_label_issue"], columns]
    share = f"{len(wrong):,} of {issues['label_quality'].count():,} labels look wrong"
    title = f"{method}, {epochs} epochs on {len(issues):,} samples; {share} (judged {scoring})"
    heads = ["row of X", "given label", "suggested label", "label quality"]
    rows = list(wrong.head(WORST).itertuples(index=False))
    return as_html(
        title, heads, rows, "All of them: label_issues_. The learned function: plot_weighting()." if rows else ""
    )

"""What a notebook shows of a trained classifier: what it learned, and which labels to look at first."""

from typing import TYPE_CHECKING

from reweigh.plan import Plan
from reweigh.training.notebook import as_html

if TYPE_CHECKING:
    import pandas as pd

WORST = 5


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

"""What a review was worth: the run before it and the one after it, on the same held-out samples."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reweigh.plan import Plan

NINETY = 1.645  # standard errors


def worth(before: Path, after: Path) -> str | None:
    """A sentence; None if the runs were not tested on the same samples."""
    import numpy as np

    from reweigh.fit.run_folder import open_run
    from reweigh.report.tables import read_tested

    (first, plan), (second, new) = open_run(before), open_run(after)
    old, now = read_tested(first.test), read_tested(second.test)
    if old is None or now is None or len(old.label) != len(now.label) or _unreviewed(plan) != _unreviewed(new):
        return None
    was, is_now = old.predicted == now.label, now.predicted == now.label
    gain = is_now.astype(float) - was
    error = NINETY * float(np.std(gain, ddof=1)) / np.sqrt(len(gain)) if len(gain) > 1 else float("nan")
    return (
        f"On the same {len(gain):,} held-out samples: {was.mean():.1%} before the review, {is_now.mean():.1%} after; "
        f"a difference of {100 * gain.mean():+.1f} points (90 %: {100 * (gain.mean() - error):+.1f} to "
        f"{100 * (gain.mean() + error):+.1f}). Labels of held-out samples may be wrong themselves."
    )


def _unreviewed(plan: "Plan") -> object:
    """The data of a plan, without what reviewers decided."""
    return replace(plan.source, added={**plan.source.added, "reviewed": None, "decisions": None})

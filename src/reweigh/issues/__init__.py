"""All that is thought of labels: predictions to posteriors, the quality of each label, and those that look wrong."""

from reweigh.issues.find import find_label_issues
from reweigh.issues.samples import Samples
from reweigh.issues.verdict import Finding, Rows, Verdict, chunks, verdict_by_posterior, verdict_of, verdict_unseen

__all__ = [
    "Finding",
    "Rows",
    "Samples",
    "Verdict",
    "chunks",
    "find_label_issues",
    "verdict_by_posterior",
    "verdict_of",
    "verdict_unseen",
]

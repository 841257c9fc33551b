"""Which labels to look at: the quality of each given label, from what training found out about the sample."""

from reweigh.issues.judging import Rows, chunks, judge
from reweigh.issues.samples import Samples

__all__ = ["Rows", "Samples", "chunks", "judge"]

"""The sections of the report in the order of the page; each is made from the accounts of the runs."""

from collections.abc import Callable, Sequence

from reweigh.report.content import Section
from reweigh.report.sections.accuracy import abstaining, classes, confusion
from reweigh.report.sections.labels import candidates, labelers, neighbors, suspects, wrong_labels
from reweigh.report.sections.map import samples_map
from reweigh.report.sections.probabilities import probabilities
from reweigh.report.sections.setup import columns, setup
from reweigh.report.sections.training import convergence, history
from reweigh.report.sections.weights import losses, weighting, weights
from reweigh.runs.read import Account

# In the reader's order: which labels to distrust, how good the model is, what was learned, then what is folded.
# A section that does not apply to any of the runs is None.
SECTIONS: dict[str, Callable[[Sequence[Account]], Section | None]] = {
    "suspects": suspects,
    "map": samples_map,
    "wrong-labels": wrong_labels,
    "labelers": labelers,
    "candidates": candidates,
    "neighbors": neighbors,
    "classes": classes,
    "confusion": confusion,
    "probabilities": probabilities,
    "history": history,
    "weighting": weighting,
    "weights": weights,
    "losses": losses,
    "convergence": convergence,
    "abstaining": abstaining,
    "columns": columns,
    "setup": setup,
}

__all__ = ["SECTIONS"]

"""The sections of the report in the order of the page; each is made from the accounts of the runs."""

from collections.abc import Callable, Sequence

from reweigh.report.content import Section
from reweigh.report.sections.abstaining import abstaining
from reweigh.report.sections.candidates import candidates
from reweigh.report.sections.classes import classes
from reweigh.report.sections.columns import columns
from reweigh.report.sections.confusion import confusion
from reweigh.report.sections.convergence import convergence
from reweigh.report.sections.history import history
from reweigh.report.sections.losses import losses
from reweigh.report.sections.neighbors import neighbors
from reweigh.report.sections.settings import settings
from reweigh.report.sections.setup import setup
from reweigh.report.sections.suspects import suspects
from reweigh.report.sections.weighting import weighting
from reweigh.report.sections.weights import weights
from reweigh.report.sections.wrong_labels import wrong_labels
from reweigh.runs.account import Account

# In the reader's order: which labels to distrust, how good the model is, what was learned, then what is folded.
# A section that does not apply to any of the runs is None.
SECTIONS: dict[str, Callable[[Sequence[Account]], Section | None]] = {
    "suspects": suspects,
    "wrong-labels": wrong_labels,
    "candidates": candidates,
    "neighbors": neighbors,
    "classes": classes,
    "confusion": confusion,
    "settings": settings,
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

"""The sections of the report in the order of the page; each is made from the accounts of the runs."""

from collections.abc import Callable, Sequence

from reweigh.report.account import Account
from reweigh.report.content import Section
from reweigh.report.sections.abstaining import abstaining
from reweigh.report.sections.candidates import candidates
from reweigh.report.sections.classes import classes
from reweigh.report.sections.columns import columns
from reweigh.report.sections.confusion import confusion
from reweigh.report.sections.cost import cost
from reweigh.report.sections.gallery import gallery
from reweigh.report.sections.history import history
from reweigh.report.sections.issues import issues
from reweigh.report.sections.losses import losses
from reweigh.report.sections.recipe import recipe
from reweigh.report.sections.weighting import weighting
from reweigh.report.sections.weights import weights
from reweigh.report.sections.wrong_labels import wrong_labels

# a section that does not apply to any of the runs is None
SECTIONS: dict[str, Callable[[Sequence[Account]], Section | None]] = {
    "gallery": gallery,
    "issues": issues,
    "wrong-labels": wrong_labels,
    "candidates": candidates,
    "classes": classes,
    "confusion": confusion,
    "abstaining": abstaining,
    "weighting": weighting,
    "weights": weights,
    "losses": losses,
    "history": history,
    "columns": columns,
    "cost": cost,
    "recipe": recipe,
}

__all__ = ["SECTIONS"]

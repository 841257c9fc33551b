"""The map: all samples as points of a plane, similar ones near each other."""

import numpy as np

from reweigh.fit.similar import similar_of
from reweigh.names import plural
from reweigh.report.content import Panel, Plot, each_run
from reweigh.report.figures.map import drawn_points, plot_points
from reweigh.runs.read import Account

LEAD = (
    "Each point is a sample; similar samples lie near each other. Points with a frame have a label that looks "
    "wrong; they often lie among those of another class."
)


def map_panel(account: Account) -> Panel:
    """One run."""
    account, _ = account.with_held_out()
    samples = account.samples
    found = None if samples is None else similar_of(account.recipe, account.dataset).plane
    if found is None or samples is None:
        return Panel([f"There is no map: {account.no_data or 'nothing is stored by which samples can be compared'}."])
    index = np.flatnonzero(samples.labeled)
    issue = None if samples.issue is None else samples.issue[index]
    drawn, number = len(drawn_points(len(index))), len(index)
    which = f"all {number:,}" if drawn == number else f"{drawn:,} of {number:,}, drawn at random,"
    framed = "" if issue is None else f", {plural(int(issue[drawn_points(number)].sum()), 'label')} framed"
    caption = f"Samples ({which} by {found.how} of their features){framed}".replace(",)", ")")
    figure = plot_points(found.points[index], samples.given[index], account.classes.names, issue)
    more = "The review page has this map with every sample (press M): drag a rectangle to see the samples in it."
    return Panel([more], [Plot(figure, caption, f"Map. {caption}.")])


samples_map = each_run("Map of the samples", LEAD, map_panel, optional=True)

"""Section: how much better the model is if it may abstain."""

from collections.abc import Sequence

import numpy as np
import torch

from reweigh.names import plural
from reweigh.report.content import Panel, Plot, Section
from reweigh.report.figures import plot_risk_coverage
from reweigh.runs.account import Account
from reweigh.runs.words import percent
from reweigh.selective import LEVELS, area, error_at, risk_coverage
from reweigh.training import Run

LEAD = (
    "Test samples are ranked by the confidence of the model. The curve shows the error rate among the most confident "
    "ones. The lower it is on the left, the better the model knows what it does not know, and the more it helps to "
    "leave doubtful samples to a person."
)


def abstaining(accounts: Sequence[Account]) -> Section:
    """Risk-coverage curves."""
    return Section("If the model may abstain", LEAD, [panel(account) for account in accounts], folded=True)


def panel(account: Account) -> Panel:
    """One run."""
    tested = account.tested
    if tested is None or tested.score is None or not np.isfinite(tested.score).all():
        return Panel(["The run stores no confidence of the model for single test samples."])
    curve = risk_coverage(torch.from_numpy(tested.score), torch.from_numpy(tested.label != tested.predicted))
    errors = {level: error_at(curve, level / 100) for level in LEVELS}
    words = [
        f"{percent(errors[100])} of {plural(len(curve), 'prediction')} are wrong; of the most confident "
        f"90\N{NO-BREAK SPACE}%, {percent(errors[90])} are, and of the most confident 70\N{NO-BREAK SPACE}%, "
        f"{percent(errors[70])}. The mean over all coverages, the area under the curve, is {percent(area(curve))}."
    ]
    listed = ", ".join(f"{percent(error)} at {level}\N{NO-BREAK SPACE}%" for level, error in errors.items())
    alternative = f"Share of wrong predictions by coverage: {listed}; area under the curve {percent(area(curve))}."
    plot = Plot(
        plot_risk_coverage(curve.numpy()), "Error rate of the predictions that are kept, by coverage", alternative
    )
    commands = []
    if Run(account.path).calibration.is_file():
        commands.append(
            (
                "Predict, and abstain where the model is not confident",
                f"reweigh predict {account.path} DATA --coverage 0.9",
            )
        )
    return Panel(words, [plot], commands=commands)

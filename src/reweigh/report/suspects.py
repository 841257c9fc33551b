"""The samples that a reader should look at, worst first."""

import numpy as np

from reweigh.report.account import Account
from reweigh.report.tables import Samples


def suspects(samples: Samples) -> np.ndarray:
    """Rows of the samples whose label looks wrong, the worst first.

    An older run has only weights, or no verdict; then all samples are ranked, by quality or else by weight.
    """
    score = samples.quality if samples.quality is not None else samples.weight
    if score is None:
        return np.flatnonzero(samples.issue) if samples.issue is not None else np.empty(0, int)
    rows = np.flatnonzero(np.isfinite(score) if samples.issue is None else samples.issue)
    return rows[np.argsort(np.nan_to_num(score[rows], nan=np.inf), kind="stable")]


def title(account: Account, row: int) -> str:
    """What a sample is called: its place in the data, and its file where the data are still there."""
    assert account.samples is not None
    place = int(account.samples.index[row])
    file, there = file_name(account, place), place_in_data(account, place)
    return f"{there} ({file})" if file else str(there)


def place_in_data(account: Account, place: int) -> int:
    """The row of a training sample in what was read; its place in the training set if the data are gone."""
    origin = None if account.dataset is None else account.dataset.origin
    return place if origin is None else int(origin[place])


def file_name(account: Account, place: int) -> str:
    """The name of a training sample in its source; empty if it has none."""
    if account.dataset is None or not account.dataset.reading.names:
        return ""
    return account.dataset.reading.names[place_in_data(account, place)]

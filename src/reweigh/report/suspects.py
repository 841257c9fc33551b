"""The samples that a reader should look at, worst first."""

import numpy as np

from reweigh.report.account import Account
from reweigh.report.tables import Samples


def suspects(samples: Samples) -> np.ndarray:
    """Indices of the samples whose label looks wrong, the worst first."""
    if samples.quality is None or samples.issue is None:
        return np.empty(0, int)
    found = np.flatnonzero(samples.issue)
    return found[np.argsort(np.nan_to_num(samples.quality[found], nan=np.inf), kind="stable")]


def title(account: Account, index: int) -> str:
    """What a training sample is called: its row in the data, and its file if it has one."""
    assert account.samples is not None
    row, file = int(account.samples.row[index]), file_name(account, index)
    return f"{row} ({file})" if file else str(row)


def file_name(account: Account, index: int) -> str:
    """The name of a training sample in its source; empty if it has none."""
    if account.samples is None or account.dataset is None or not account.dataset.reading.names:
        return ""
    return account.dataset.reading.names[account.samples.row[index]]

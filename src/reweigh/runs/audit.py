"""The audit of a run: which labels are drawn, and what the decisions about them say about all labels."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reweigh.fit.decisions import Decision, Decisions, agreement
from reweigh.fit.run_folder import open_run
from reweigh.issues.audit import Audit, Audited
from reweigh.runs.read import read_classes, with_verdicts
from reweigh.runs.tables import Samples
from reweigh.training import Run


class RunAudit:
    """Samples in the order in which an audit draws them, and what decisions about the first of them say.

    What people had agreed on before the audit began is known, and is not drawn. A sample that was decided about in a
    review after that is not shown again. The audit has come as far as the first sample that nobody has looked at.
    """

    def __init__(self, samples: Samples, decisions: Decisions):
        assert samples.quality is not None
        assert samples.issue is not None
        self._decisions, self._samples = decisions, samples
        self._begun = decisions.before_audit is not None
        known = decisions.agreed() if decisions.before_audit is None else decisions.before_audit
        labeled = np.flatnonzero(samples.labeled)
        rows, wrong = samples.row[labeled], np.full(len(labeled), np.nan)
        for index in np.flatnonzero(np.isin(rows, list(known))).tolist():
            wrong[index] = _answer(known[rows[index]])
        self._audit = Audit(samples.quality[labeled], samples.issue[labeled], samples.given[labeled], wrong)
        self.queue: np.ndarray = labeled[self._audit.order]
        """Indices of the samples, the first drawn first."""

    def found(self, class_names: Sequence[str]) -> Audited | None:
        answers: list[float] = []
        for row in self._samples.row[self.queue].tolist() if self._begun else []:
            each = self._decisions.of(row)
            if not each:
                break
            answers.append(_answer(agreement(each)))
        if len(self.queue) and np.isnan(answers).all():
            return None
        return self._audit.estimate(answers, class_names)


def _answer(agreed: Decision | None) -> float:
    """1 if people say that the given label is wrong, 0 if right, NaN if they do not say."""
    return math.nan if agreed is None or agreed.wrong is None else float(agreed.wrong)


def audited(path: Path) -> Audited | None:
    """What the audit of a run found so far; None if there was none."""
    run, _ = open_run(path)
    if not run.decisions.is_file():
        return None
    return RunAudit(with_verdicts(path)[0], Decisions(run.decisions)).found(read_classes(run).names)


def claim(path: Path) -> str:
    """How many labels of a run are wrong, and how sure that is; empty if it does not say.

    An audit of the run counts, else one of the run whose review it was trained with, else what training found.
    """
    run, plan = open_run(path)
    if (found := audited(path)) is not None:
        return found.claim
    reviewed = plan.source.added.get("reviewed")
    if reviewed and Run(Path(reviewed).parent).recipe.is_file() and (found := audited(Path(reviewed).parent)):
        return f"Before the review: {found.claim}"
    finding = read_classes(run).finding
    return "" if finding is None else finding.claim

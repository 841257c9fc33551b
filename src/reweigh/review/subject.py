"""What is reviewed: the samples of a run folder, or of a classifier that was just fitted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reweigh.data import Dataset
from reweigh.data.dataset import Reading
from reweigh.data.viewer import Viewer
from reweigh.errors import DataError
from reweigh.fit import Fit
from reweigh.fit.run_folder import not_ended, open_run
from reweigh.fit.similar import Similar, similar_of
from reweigh.issues import Finding
from reweigh.runs.read import read_account
from reweigh.runs.tables import Samples

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Subject:
    """Samples with their given and suggested labels, and how each looks.

    Attributes:
        title: What the page calls it.
        file: Where decisions are written.
        similar: Which samples are like each other.
        looks: The samples themselves; None if they cannot be shown.
        trouble: Why they cannot be shown; empty if they can.
        held_out: How many samples, the last ones, were not trained on.
        classes: The classes as the caller writes them, such as numbers; by default their names.
        finding: How many labels of each class are wrong; None if training does not say.
    """

    title: str
    file: Path
    class_names: Sequence[str]
    samples: Samples
    similar: Similar
    looks: Viewer | None = None
    trouble: str = ""
    held_out: int = 0
    classes: Sequence[Any] = ()
    finding: Finding | None = None

    @property
    def counted(self) -> tuple[float, float] | None:
        """How many labels are wrong, at least and at most; None if training does not say."""
        if self.finding is None or len(self.finding.low) != len(self.class_names):
            return None
        sizes = np.bincount(self.samples.given[self.samples.labeled], minlength=len(self.class_names))
        return float(sizes @ np.array(self.finding.low)), float(sizes @ np.array(self.finding.high))

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", self.class_names if len(self.classes) == 0 else self.classes)

    @property
    def quality(self) -> np.ndarray:
        """Quality of each given label; a sample without a label counts as certain, so that it comes last."""
        assert self.samples.quality is not None
        return np.nan_to_num(self.samples.quality, nan=1.0)


def of_run(path: Path) -> Subject:
    """The samples of a run that has ended and judges labels."""
    run, plan = open_run(path)
    account = read_account(path, path.resolve().name)
    account, held_out = account.with_held_out()
    samples, dataset = account.samples, account.dataset
    if samples is None:
        raise not_ended(run, run.samples)
    if samples.quality is None or samples.suggested is None or samples.issue is None:
        raise DataError(f"{run.samples}: holds no suggested labels; train again to get them (train.looks above 0)")
    if samples.candidates is not None:
        raise DataError(f"{path}: samples have several candidate labels each; a review is about one label per sample")
    looks = None if dataset is None else Viewer(dataset)
    names = account.classes.names
    return Subject(
        account.name,
        run.decisions,
        names,
        samples,
        similar_of(plan, dataset),
        looks,
        account.no_data,
        held_out,
        finding=account.classes.finding,
    )


def of_fit(
    found: Fit, dataset: Dataset, frame: "pd.DataFrame | None", file: Path, classes: Sequence[Any] = ()
) -> Subject:
    """The training samples of a fit.

    Args:
        dataset: The inputs that it was fitted to.
        frame: The table that they come from.
        file: Where decisions are written.
        classes: The classes as the caller writes them; by default their names.
    """
    judged = found.samples
    if len(dataset) != len(judged.given):
        raise DataError(f"X: {len(dataset):,} samples, but {len(judged.given):,} were fitted; pass the X of the fit")
    if bool(judged.quality.isnan().all()):
        raise DataError(f"method {found.plan.method.name!r} did not judge labels; fit with another method")
    columns: dict[str, Any] = {name: getattr(judged, name).numpy() for name in ("given", "suggested", "quality")}
    weight = None if judged.weights is None else judged.weights.numpy()
    samples = Samples(row=found.origin.numpy(), **columns, issue=judged.wrong.numpy(), weight=weight)
    dataset = replace(dataset, labels=judged.given, reading=Reading(encoding=found.inputs.encoding))
    return Subject(
        file.stem,
        file,
        found.class_names,
        samples,
        Similar(dataset, found.front),
        Viewer(dataset, frame),
        classes=classes,
        finding=found.finding,
    )

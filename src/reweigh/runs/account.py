"""Everything that a run folder holds, in one place."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from reweigh.data import Dataset
from reweigh.data.inputs import Inputs, Rows
from reweigh.data.splits import at_origin
from reweigh.fit.decision import Decision
from reweigh.issues.verdict import Finding
from reweigh.plan.plan import Plan
from reweigh.runs.tables import Labeler, Samples, Tested
from reweigh.runs.words import UNKNOWN
from reweigh.training import Result
from reweigh.weighting import Origin, WeightNet

LEAST = 1e-6  # lowest quality that counts; below it, the doubt stays the same


@dataclass(frozen=True)
class Classes:
    """The classes of the training data.

    Attributes:
        names: Name of each class, cut to a length that fits a page.
        sizes: Training samples of each class by given label; empty if unknown.
        families: Family of each class; empty if unknown, or if the method has none.
        finding: How many labels are wrong in each class; None if it was not estimated.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    families: tuple[int, ...] = ()
    finding: Finding | None = None

    def name(self, label: int) -> str:
        """The name of a label; its number if it has no name, a dash if it is unknown."""
        if label < 0:
            return UNKNOWN
        return self.names[label] if label < len(self.names) else f"class {label}"


def _joined(first: Inputs, second: Inputs) -> Inputs | None:
    """Rows in memory, or rows that are fetched from the same place, as one; None for others."""
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        return torch.cat([first, second])
    if isinstance(first, Rows) and isinstance(second, Rows) and first.inputs is second.inputs:
        return Rows(first.inputs, torch.cat([first.index, second.index]))
    return None


@dataclass(frozen=True)
class Account:
    """Everything that a run folder holds.

    Attributes:
        name: Name of the run, unique among those that are reported together.
        status: See ``reweigh.training.run``.
        history: Numbers of each epoch; NaN for one that was not finite.
        net: The learned weighting function.
        origin: Where it was learned.
        dataset: The training set, read again.
        unseen: Samples of the same data that were held out for testing, read again; None if there are none.
        held_out: What the final model makes of these; None if they were not judged.
        no_data: Why there is no dataset.
        labelers: What is known about each labeler, if there were several.
        decision: How logits become probabilities; None if the run does not say so, or as an older version did.
    """

    path: Path
    name: str
    recipe: Plan
    recipe_text: str
    status: str
    epochs: int
    history: Sequence[dict[str, float]]
    classes: Classes
    samples: Samples | None = None
    tested: Tested | None = None
    net: WeightNet | None = None
    origin: Origin = field(default_factory=Origin)
    dataset: Dataset | None = None
    unseen: Dataset | None = None
    held_out: Samples | None = None
    no_data: str = ""
    labelers: Sequence[Labeler] = ()
    decision: Decision | None = None

    def with_held_out(self) -> "tuple[Account, int]":
        """All judged samples of the data as one, those that were held out last, and the number of these.

        0 if they cannot be shown beside the others: they come from another source, or have changed.
        """
        held_out, dataset, unseen = self.held_out, self.dataset, self.unseen
        if self.samples is None or held_out is None or dataset is None or unseen is None:
            return self, 0
        unseen = at_origin(unseen, torch.from_numpy(held_out.row))
        inputs = _joined(dataset.inputs, unseen.inputs)
        if inputs is None or not np.array_equal(unseen.labels.numpy(), held_out.given):
            return self, 0
        joined = Dataset(
            inputs,
            torch.cat([dataset.labels, unseen.labels]),
            dataset.class_names,
            reading=dataset.reading,
            origin=torch.cat([dataset.source_rows, unseen.source_rows]),
        )
        return replace(self, samples=self.samples.with_more(held_out), dataset=joined), len(held_out)

    @property
    def losses(self) -> np.ndarray:
        """The known and finite losses of the training samples."""
        known = None if self.samples is None else self.samples.loss
        return np.empty(0) if known is None else known[np.isfinite(known)]

    @property
    def read(self) -> np.ndarray:
        """The inputs of the weighting function for the training samples that are known: the loss, or the doubt."""
        if self.origin.reads != "doubt":
            return self.losses
        known = None if self.samples is None else self.samples.quality
        return np.empty(0) if known is None else -np.log(np.clip(known[np.isfinite(known)], LEAST, 1))

    @property
    def method(self) -> str:
        return self.recipe.method.name

    @property
    def seconds(self) -> float:
        """Training time, before and after interruptions."""
        return sum(line.get("seconds", math.nan) for line in self.history)

    @property
    def tests(self) -> list[str]:
        """Names of the test metrics, the main one first."""
        return list(dict.fromkeys(key for line in self.history for key in line if key.startswith("test_")))

    @property
    def kept(self) -> dict[str, float]:
        """The epoch whose model is saved; empty before the first."""
        return Result(list(self.history)).kept if self.history else {}

    @property
    def kept_name(self) -> str:
        """What to call that epoch."""
        return Result(list(self.history)).kept_name if self.history else "last"

    @property
    def best(self) -> dict[str, float]:
        """The epoch with the highest main test metric; chosen on the test set, so it is optimistic."""
        judged = [line for line in self.history if self.tests and math.isfinite(line.get(self.tests[0], math.nan))]
        return Result(judged).best if judged else {}

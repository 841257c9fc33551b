"""What a run folder tells, all in one place."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from reweigh.data import Dataset
from reweigh.plan.plan import Plan
from reweigh.report.tables import Samples, Tested
from reweigh.report.words import UNKNOWN
from reweigh.training import Result
from reweigh.weighting import Origin, WeightNet


@dataclass(frozen=True)
class Classes:
    """The classes of the training data.

    Attributes:
        names: of class 0, 1, ...
        sizes: training samples of each by given label; empty if unknown.
        families: the family of each; empty if unknown, or if the method has none.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    families: tuple[int, ...] = ()

    def name(self, label: int) -> str:
        """What a label is called; a label without a name is told by its number, an unknown one by a dash."""
        if label < 0:
            return UNKNOWN
        return self.names[label] if label < len(self.names) else f"class {label}"


@dataclass(frozen=True)
class Account:
    """All that a run folder tells.

    Attributes:
        name: of the run, unique among those that are reported together.
        recipe_text: the TOML of the recipe.
        status: finished, running, interrupted, diverged; unknown if the run does not say.
        epochs: how many there were to be.
        history: a line of numbers an epoch; NaN for one that was not finite.
        net: the learned weighting function.
        origin: where it was learned.
        dataset: the training set, read again.
        no_data: why there is none.
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
    no_data: str = ""

    @property
    def losses(self) -> np.ndarray:
        """The losses of the training samples that are known and finite."""
        known = None if self.samples is None else self.samples.loss
        return np.empty(0) if known is None else known[np.isfinite(known)]

    @property
    def method(self) -> str:
        return self.recipe.method.name

    @property
    def seconds(self) -> float:
        """Training time in all lives of the run."""
        return sum(line.get("seconds", math.nan) for line in self.history)

    @property
    def tests(self) -> list[str]:
        """The names of the test numbers, the one that judges first."""
        return list(dict.fromkeys(key for line in self.history for key in line if key.startswith("test_")))

    @property
    def best(self) -> dict[str, float]:
        """The epoch with the highest first test number; chosen by the test itself, so it flatters."""
        judged = [line for line in self.history if self.tests and math.isfinite(line.get(self.tests[0], math.nan))]
        return Result(judged).best if judged else {}

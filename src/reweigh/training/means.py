"""Running means of the numbers that steps return."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor


class Means:
    """The mean of each number over the samples of an epoch so far.

    A number need not come at every step (a meta loss every tenth, say): each has its own count. Scalar tensors are
    added up where they are, and read only when somebody asks: to read one is to wait for the device.
    """

    def __init__(self) -> None:
        self.totals: dict[str, float | Tensor] = {}
        self.counts: dict[str, int] = {}

    def add(self, numbers: Mapping[str, float | Tensor], samples: int) -> None:
        """Count the numbers of a step that saw so many samples."""
        for name, value in numbers.items():
            if isinstance(value, Tensor) and value.device.type != "mps":  # which has no double precision
                value = value.double()
            self.totals[name] = self.totals.get(name, 0.0) + value * samples
            self.counts[name] = self.counts.get(name, 0) + samples

    def means(self) -> dict[str, float]:
        """The means by name, in the order in which the names first came."""
        return {name: float(total) / self.counts[name] for name, total in self.totals.items()}

    def state_dict(self) -> dict[str, Any]:
        return {"totals": {name: float(total) for name, total in self.totals.items()}, "counts": self.counts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.totals, self.counts = dict(state["totals"]), dict(state["counts"])

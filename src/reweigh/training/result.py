"""The numbers of a training: running means within an epoch, and every epoch."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor


class Result(NamedTuple):
    """The history of a run.

    Attributes:
        history: one dict per epoch: ``epoch`` (from 1), ``lr``, ``train_...`` for each number of the method's steps,
            ``test_...`` for each number of the evaluation, ``judge_...`` for each of the judge, if there is one,
            ``seconds``.
    """

    history: list[dict[str, Any]]

    @property
    def last(self) -> dict[str, Any]:
        return self.history[-1]

    @property
    def kept(self) -> dict[str, Any]:
        """The line of the epoch whose model is saved: the one that the judge chose, or else the last."""
        return self.history[int(self.last.get("judge_keeps", len(self.history))) - 1]

    @property
    def kept_name(self) -> str:
        """What to call that epoch: "last", or "kept" if there was a judge."""
        return "kept" if "judge_keeps" in self.last else "last"

    @property
    def best(self) -> dict[str, Any]:
        """The line with the best first test number, the earliest of equals; without a test, the last.

        It is chosen on the test set, so it is optimistic: show it next to the kept epoch, never instead of it.
        """
        judged_by = next((name for name in self.last if name.startswith("test_")), None)
        if judged_by is None:
            return self.last
        best = min if judged_by.endswith("log_loss") else max
        return best(self.history, key=lambda line: line[judged_by])

    @property
    def last_ten(self) -> dict[str, float]:
        """The mean of each test number over the last ten epochs, as the paper reports results under label noise."""
        lines = self.history[-10:]
        names = [name for name in self.last if name.startswith("test_") and all(name in line for line in lines)]
        return {name: sum(line[name] for line in lines) / len(lines) for name in names}

    def summary(self, status: str, epochs: int) -> dict[str, Any]:
        """The content of summary.json; also for a run that has not ended, or has not finished an epoch.

        Args:
            status: running, finished, interrupted, or diverged.
            epochs: planned number of epochs.
        """
        summary: dict[str, Any] = {"status": status, "epochs": epochs, "epochs_done": len(self.history)}
        if self.history:
            seconds = sum(line["seconds"] for line in self.history)
            summary |= {"seconds": seconds, "best": self.best, "last": self.last, "kept": self.kept}
            summary["last_ten"] = self.last_ten
        return summary


class Means:
    """The mean of each number over the samples of an epoch so far.

    A number need not come at every step (a meta loss every tenth, say): each has its own count. Scalar tensors are
    added up where they are, and read only when somebody asks: to read one is to wait for the device.
    """

    def __init__(self) -> None:
        self.totals: dict[str, float | Tensor] = {}
        self.counts: dict[str, int] = {}

    def add(self, numbers: Mapping[str, float | Tensor], samples: int) -> None:
        """Count the numbers of a step on this many samples."""
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

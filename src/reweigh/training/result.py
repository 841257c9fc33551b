"""The numbers of a training: running means within an epoch, every epoch, and a table of them for notebooks."""

from collections.abc import Mapping, Sequence
from html import escape
from numbers import Integral, Real
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
        """The line of the last epoch."""
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


def as_html(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]], words: str = "") -> str:
    """A fragment of HTML in the notebook's own colors; every text is escaped.

    Args:
        rows: One cell per head; numbers are written to three digits.
        words: below the table.
    """
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(shown(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    below = f"<p>{escape(words)}</p>" if words else ""
    return f"<div><p><strong>{escape(title)}</strong></p>{table}{below}</div>"


def result_html(title: str, result: Result, words: str = "") -> str:
    """The results of a training: every test metric of the epoch that was kept and of the best one."""
    if not result.history:
        return as_html(f"{title}: no epoch is finished yet", [], [])
    kept, best = result.kept, result.best
    tests = [name for name in kept if name.startswith("test_")]
    heads = ["test", f"{result.kept_name} epoch ({kept['epoch']})", f"best epoch ({best['epoch']})"]
    rows = [[name.removeprefix("test_").replace("_", " "), kept[name], best[name]] for name in tests]
    return as_html(f"{title}: {len(result.history)} epochs", heads, rows, words)


def shown(cell: object) -> str:
    """A cell as text."""
    fraction = isinstance(cell, Real) and not isinstance(cell, Integral)  # NumPy's too
    return f"{cell:.3f}" if fraction else str(cell)

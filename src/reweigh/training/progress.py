"""Watch training, and series of runs: a bar on a terminal, lines elsewhere, or nothing."""

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from reweigh.training.processes import is_first
from reweigh.training.result import Means

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Observer(Protocol):
    """What the loop reports while it trains. Epochs and steps are counted from 1."""

    def start(self, epochs: int, steps: int, done: int) -> None:
        """Training begins: ``epochs`` epochs of ``steps`` steps; ``done`` steps were done before an interruption."""

    def step(self, epoch: int, step: int, means: Means) -> None:
        """A step is done; ``means`` are the running means of its epoch. Called at every step: be quick."""

    def epoch(self, line: Mapping[str, Any]) -> None:
        """An epoch is done; ``line`` is its line of metrics.jsonl."""

    def count(self, what: str, done: int, total: int) -> None:
        """Before training: ``done`` of ``total`` are done, such as samples turned into features."""

    def stop(self) -> None:
        """Training ended, successfully or not."""


class Silent(Observer):
    """Reports nothing."""


class Rate:
    """How fast something is counted, and how long the rest will take."""

    def __init__(self) -> None:
        self.what = ""

    def words(self, what: str, done: int, total: int) -> str:
        """What is counted, how many are done, the rate and the time left."""
        if what != self.what or done < self.before:
            self.what, self.begin, self.began = what, done, time.monotonic()
        self.before = done
        spent = time.monotonic() - self.began
        rate = (done - self.begin) / spent if spent > 0 and done > self.begin else 0.0
        pace = f", {rate:.3g} per second, left {clock((total - done) / rate)}" if rate else ""
        return f"{done:,} of {total:,} {what}{pace}"


class Lines(Silent):
    """Writes one line per epoch, and one every few seconds while something is counted."""

    interval = 10.0  # seconds

    def __init__(self, stream: TextIO, label: str = "") -> None:
        self.stream = stream
        self.label = label
        self.rate = Rate()
        self.next_line = 0.0

    def count(self, what: str, done: int, total: int) -> None:
        words = self.rate.words(what, done, total)
        now = time.monotonic()
        if now >= self.next_line or done == total:
            self.next_line = now + self.interval
            print("  ".join(part for part in (self.label, words) if part), file=self.stream, flush=True)

    def start(self, epochs: int, steps: int, done: int) -> None:
        self.epochs = epochs
        self.spent: list[float] = []

    def epoch(self, line: Mapping[str, Any]) -> None:
        self.spent.append(line["seconds"])
        left = sum(self.spent) / len(self.spent) * (self.epochs - line["epoch"])
        parts = [self.label, f"epoch {line['epoch']}/{self.epochs}", *_words(line), f"lr {line['lr']:.4g}"]
        parts += [f"{line['seconds']:.1f} s", f"left {clock(left)}"]
        print("  ".join(part for part in parts if part), file=self.stream, flush=True)


class Bar:
    """Draws a bar with the epoch, loss, accuracy, mean weight and the time left.

    Args:
        transient: Whether the bar is gone at the end.
    """

    interval = 0.1  # seconds between two looks at the numbers; a step may take less than a millisecond

    def __init__(self, stream: TextIO, label: str = "", transient: bool = False) -> None:
        self.label = label
        self.bar = drawing(stream, transient)
        self.rate = Rate()
        self.counted: TaskID | None = None

    def count(self, what: str, done: int, total: int) -> None:
        words = self.rate.words(what, done, total)
        if self.counted is None:
            self.counted = self.bar.add_task(self.label or what, total=total, numbers=words)
            self.bar.start()
        self.bar.update(self.counted, completed=done, numbers=words)
        if done == total:
            self.bar.remove_task(self.counted)
            self.bar.refresh()
            self.counted = None

    def start(self, epochs: int, steps: int, done: int) -> None:
        self.epochs, self.steps = epochs, steps
        self.judged: dict[str, Any] = {}
        self.next_look = 0.0
        self.task = self.bar.add_task(self._title(done // steps + 1), total=epochs * steps, completed=done, numbers="")
        self.bar.start()

    def step(self, epoch: int, step: int, means: Means) -> None:
        now = time.monotonic()
        if now >= self.next_look:
            self.next_look = now + self.interval
            trained = {f"train_{name}": value for name, value in means.means().items()}
            self._show(epoch, (epoch - 1) * self.steps + step, {**trained, **self.judged})

    def epoch(self, line: Mapping[str, Any]) -> None:
        self.judged = {name: value for name, value in line.items() if name.startswith("test_")}
        self._show(line["epoch"], line["epoch"] * self.steps, line)

    def stop(self) -> None:
        self.bar.stop()

    def _show(self, epoch: int, done: int, numbers: Mapping[str, Any]) -> None:
        self.bar.update(self.task, description=self._title(epoch), completed=done, numbers="  ".join(_words(numbers)))

    def _title(self, epoch: int) -> str:
        return f"{self.label}  epoch {epoch}/{self.epochs}".strip()


def progress(stream: TextIO | None = None, label: str = "", transient: bool = False) -> Observer:
    """The bar if ``stream`` (standard error by default) is a terminal that can draw it, else plain lines."""
    stream = sys.stderr if stream is None else stream
    if stream is None or not is_first():  # a process without standard streams, or one of several
        return Silent()
    return Bar(stream, label, transient) if can_draw(stream) else Lines(stream, label)


class Series:
    """Reports a series of runs: one line per run, and in between the bar or the lines of the current one.

    Args:
        stream: Where to; None reports nothing.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream

    def start(self, runs: int, done: int) -> None:
        """The series begins; ``done`` of its ``runs`` runs were finished before."""
        self.runs, self.done, self.before = runs, done, done
        self.begun = time.monotonic()
        if done:
            self._say(f"{done} of {runs} runs are done already")

    def begin(self, label: str) -> Observer:
        """A run begins in this process; returns what watches it."""
        return Silent() if self.stream is None else progress(self.stream, label, transient=True)

    def end(self, label: str, last: float | None, error: str | None) -> None:
        """A run has ended.

        Args:
            last: Its test result, in percent.
            error: What went wrong.
        """
        self.done += 1
        outcome = "failed" if error else "done" if last is None else f"test {last:.2f}%"
        each = (time.monotonic() - self.begun) / (self.done - self.before)
        self._say(f"{self.done}/{self.runs} runs  {label}: {outcome}  left {clock(each * (self.runs - self.done))}")

    def _say(self, line: str) -> None:
        if self.stream is not None:
            print(line, file=self.stream, flush=True)


def series() -> Series:
    """A series on standard error; the first of several processes reports for all."""
    return Series(sys.stderr if is_first() else None)


def drawing(stream: TextIO, transient: bool) -> "Progress":
    """Bars with a title, numbers and the time left, none yet."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    title, numbers = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[numbers]"))
    columns = title, BarColumn(bar_width=None), numbers, TimeRemainingColumn()
    return Progress(*columns, console=Console(file=stream), expand=True, transient=transient)


def can_draw(stream: TextIO) -> bool:
    """Whether the stream is a terminal that can redraw a line."""
    from rich.console import Console

    console = Console(file=stream)
    return console.is_terminal and not console.is_dumb_terminal


def _words(numbers: Mapping[str, Any]) -> list[str]:
    """The few numbers worth watching, if they are known."""
    shown = {"train_loss": "loss", "train_accuracy": "train", "test_accuracy": "test", "train_weight": "weight"}
    return [f"{word} {numbers[name]:.4f}" for name, word in shown.items() if name in numbers]


def clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"

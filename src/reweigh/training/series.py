"""Watch a series of runs: a bar over all runs above that of the current one, one line per run elsewhere, or nothing."""

import sys
import time
from typing import Protocol, TextIO

from rich.progress import Task, TimeRemainingColumn
from rich.text import Text

from reweigh.training.processes import is_first
from reweigh.training.progress import Bar, Lines, Observer, Silent, can_draw, clock, drawing


class Series(Protocol):
    """What is reported of a series of runs."""

    def start(self, runs: int, done: int) -> None:
        """The series begins; ``done`` of its ``runs`` runs were finished before."""

    def begin(self, label: str) -> Observer:
        """A run begins in this process; returns what watches it."""
        ...

    def end(self, label: str, last: float | None, error: str | None) -> None:
        """A run has ended.

        Args:
            last: Its test result, in percent.
            error: What went wrong.
        """

    def stop(self) -> None:
        """The series ended, successfully or not."""


class Quiet(Series):
    """Reports nothing."""

    def begin(self, label: str) -> Observer:
        return Silent()


class SeriesLines(Quiet):
    """Writes one line per run, and in between one line per epoch of the current run."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def start(self, runs: int, done: int) -> None:
        self.runs, self.done, self.before = runs, done, done
        self.begun = time.monotonic()
        if done:
            self.say(f"{done} of {runs} runs are done already")

    def begin(self, label: str) -> Observer:
        return Lines(self.stream, label)

    def end(self, label: str, last: float | None, error: str | None) -> None:
        self.done += 1
        outcome = "failed" if error else "done" if last is None else f"test {last:.2f} %"
        self.say(f"{self.done}/{self.runs} runs  {label}: {outcome}  left {self.left()}")

    def left(self, under_way: float = 0.0) -> str:
        """The time left, at the pace so far.

        Args:
            under_way: Finished share of the runs that have not ended.
        """
        done, to_do = self.done - self.before + under_way, self.runs - self.done - under_way
        if to_do and not done:
            return "-:--:--"
        return clock((time.monotonic() - self.begun) * to_do / done if to_do else 0.0)

    def say(self, line: str) -> None:
        """Write a line."""
        self.stream.write(line + "\n")
        self.stream.flush()


class SeriesBar(SeriesLines):
    """Draws a bar over all runs above that of the run under way, and writes one line per run."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.bar = drawing(stream, _TimeLeft())

    def start(self, runs: int, done: int) -> None:
        super().start(runs, done)
        title = f"{done}/{runs} runs"
        self.task = self.bar.add_task(title, total=runs, completed=done, numbers="", left=self.time_left)
        self.bar.start()

    def begin(self, label: str) -> Observer:
        self.bar.update(self.task, numbers=label)
        return Bar(self.stream, among=self.bar)

    def end(self, label: str, last: float | None, error: str | None) -> None:
        super().end(label, last, error)
        title = f"{self.done}/{self.runs} runs"
        self.bar.update(self.task, description=title, completed=self.done, numbers="")

    def time_left(self) -> str:
        """The time left at this moment."""
        return self.left(sum(task.percentage / 100 for task in self.bar.tasks if task.id != self.task))

    def stop(self) -> None:
        self.bar.stop()

    def say(self, line: str) -> None:
        self.bar.console.print(line, markup=False, highlight=False)


class _TimeLeft(TimeRemainingColumn):
    """Shows the time that a task itself estimates, if it does."""

    def render(self, task: Task) -> Text:
        left = task.fields.get("left")
        return Text(left(), "progress.remaining") if left else super().render(task)


def series(stream: TextIO | None = None) -> Series:
    """The bars if ``stream`` (standard error by default) is a terminal that can draw them, else plain lines."""
    stream = sys.stderr if stream is None else stream
    if stream is None or not is_first():  # a process without standard streams, or one of several
        return Quiet()
    return SeriesBar(stream) if can_draw(stream) else SeriesLines(stream)

"""A series of runs is watched as a whole: how many are done, how the last one did, how long it will take."""

import io
import re

import pytest

from reweigh.training.progress import Bar, Series, Silent, series


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def now(monkeypatch):
    """A plain terminal, and a clock that is set by hand."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    time = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: time[0])
    return time


def test_lines_say_what_is_done_and_left(now):
    stream = io.StringIO()
    watch = Series(stream)
    watch.start(4, 1)
    observer = watch.begin("erm, seed 1")
    observer.start(1, 2, 0)
    observer.epoch({"epoch": 1, "lr": 0.1, "train_loss": 1.5, "seconds": 9.0})
    observer.stop()
    now[0] += 10
    watch.end("erm, seed 1", 81.256, None)
    now[0] += 20
    watch.end("erm, seed 2", None, "DivergedError: the loss is nan")
    watch.end("erm, seed 3", None, None)
    assert stream.getvalue().splitlines() == [
        "1 of 4 runs are done already",
        "erm, seed 1  epoch 1/1  loss 1.5000  lr 0.1  9.0 s  left 0:00:00",
        "2/4 runs  erm, seed 1: test 81.26%  left 0:00:20",  # 10 s for one, two to come
        "3/4 runs  erm, seed 2: failed  left 0:00:15",  # 30 s for two, one to come
        "4/4 runs  erm, seed 3: done  left 0:00:00",
    ]


def test_a_terminal_gets_a_bar_for_the_run_under_way_and_a_line_per_run():
    stream = Terminal()
    watch = Series(stream)
    watch.start(2, 0)
    run = watch.begin("[clean], erm, seed 0")
    assert isinstance(run, Bar)
    run.start(2, 5, 0)
    run.epoch({"epoch": 1, "train_loss": 1.5, "test_accuracy": 0.25, "seconds": 2.0})
    run.bar.refresh()
    run.stop()
    watch.end("[clean], erm, seed 0", 90.0, None)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()).replace("\r", "\n")
    assert "[clean], erm, seed 0  epoch 1/2" in text
    assert "loss 1.5000  test 0.2500" in text
    assert "1/2 runs  [clean], erm, seed 0: test 90.00%" in text


def test_without_a_stream_nothing_is_said(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    watch = series()
    watch.start(2, 1)
    assert isinstance(watch.begin("erm"), Silent)
    watch.end("erm", None, None)

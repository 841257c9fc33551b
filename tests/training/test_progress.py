import io
import re

import pytest

from reweigh.training.progress import Bar, Lines, Silent, progress
from reweigh.training.result import Means


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def line(epoch: int, **more) -> dict:
    return {"epoch": epoch, "lr": 0.1, "train_loss": 1.5, "test_accuracy": 0.25, **more, "seconds": 2.0}


def tell(observer, epochs: int = 3) -> None:
    observer.start(epochs, 2, 0)
    for epoch in range(1, epochs + 1):
        means = Means()
        for step in (1, 2):
            means.add({"loss": 0.5, "weight": 0.75}, 4)
            observer.step(epoch, step, means)
        observer.epoch(line(epoch, train_weight=0.75))
    observer.stop()


@pytest.fixture
def _a_plain_environment(monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.usefixtures("_a_plain_environment")
def test_a_terminal_gets_a_bar_and_a_file_gets_lines(monkeypatch):
    assert isinstance(progress(Terminal()), Bar)
    assert isinstance(progress(io.StringIO()), Lines)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress(Terminal()), Lines)
    monkeypatch.setattr("sys.stderr", None)
    assert isinstance(progress(), Silent)


def test_lines_are_one_an_epoch_and_plain():
    stream = io.StringIO()
    tell(Lines(stream, "erm, seed 1"))
    lines = stream.getvalue().splitlines()
    assert lines[0] == ("erm, seed 1  epoch 1/3  loss 1.5000  test 0.2500  weight 0.7500  lr 0.1  2.0 s  left 0:00:04")
    assert len(lines) == 3
    assert lines[2].endswith("left 0:00:00")


def test_lines_without_label_weight_and_test():
    stream = io.StringIO()
    observer = Lines(stream)
    observer.start(10000, 2, 0)
    observer.epoch({"epoch": 1, "lr": 0.1, "train_loss": 1.5, "seconds": 2.0})
    assert stream.getvalue() == "epoch 1/10000  loss 1.5000  lr 0.1  2.0 s  left 5:33:18\n"


@pytest.mark.usefixtures("_a_plain_environment")
def test_the_bar_shows_epoch_loss_accuracy_weight_and_time_left():
    stream = Terminal()
    observer = Bar(stream, "[mw-net]")
    observer.interval = 0.0
    tell(observer)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    last = text.strip().splitlines()[-1]
    assert "[mw-net]  epoch 3/3" in last
    assert "loss 1.5000  test 0.2500  weight 0.7500" in last
    assert re.search(r"\d:\d\d:\d\d", last)


@pytest.mark.usefixtures("_a_plain_environment")
def test_the_bar_begins_where_a_resumed_run_does():
    observer = Bar(Terminal())
    observer.start(4, 5, 12)
    assert observer.bar.tasks[0].completed == 12
    assert observer.bar.tasks[0].total == 20
    assert observer.bar.tasks[0].description == "epoch 3/4"
    observer.stop()


@pytest.mark.usefixtures("_a_plain_environment")
def test_the_bar_looks_at_the_numbers_only_now_and_then():
    observer = Bar(Terminal())
    observer.interval = 1000.0
    observer.start(1, 1000, 0)

    class Counting(Means):
        looks = 0

        def means(self):
            self.looks += 1
            return super().means()

    means = Counting()
    for step in range(1000):
        observer.step(1, step + 1, means)
    observer.stop()
    assert means.looks == 1


def test_silent_says_nothing(capsys):
    tell(Silent())
    assert capsys.readouterr() == ("", "")


def test_what_is_counted_quickly_gets_two_lines():
    stream = io.StringIO()
    observer = Lines(stream)
    for done in range(1, 101):
        observer.count("kB of file.gz", done, 100)
    first, last = stream.getvalue().splitlines()
    assert first == "1 of 100 kB of file.gz"
    assert last.startswith("100 of 100 kB of file.gz")


@pytest.mark.usefixtures("_a_plain_environment")
def test_what_is_counted_gets_a_bar_that_goes_when_it_is_done():
    stream = Terminal()
    observer = progress(stream)
    observer.count("kB of file.gz", 1_000, 2_000)
    observer.count("kB of file.gz", 2_000, 2_000)
    observer.stop()
    assert "1,000 of 2,000 kB of file.gz" in stream.getvalue()
    assert isinstance(observer, Bar)
    assert not observer.bar.tasks

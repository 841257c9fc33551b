"""Ctrl-C that lets the current step finish, so that what is saved is consistent."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Interrupted(KeyboardInterrupt):
    """The user stopped a run.

    Attributes:
        path: the run folder, whose checkpoint resumes the run; None if it was trained without one.
    """

    def __init__(self, message: str, path: Path | None) -> None:
        super().__init__(message)
        self.path = path


class Stop:
    """Whether the user asked to stop."""

    def __init__(self) -> None:
        self.requested = False


@contextmanager
def listen() -> Iterator[Stop]:
    """Turn the first SIGINT into a request to stop; the second raises KeyboardInterrupt at once.

    Signals can only be caught in the main thread, and one that is ignored (as under nohup) stays ignored: then the
    request is simply never made.
    """
    stop = Stop()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield stop
        return

    def ask(signum: int, frame: Any) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True

    signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)

"""Let the current step finish after Ctrl-C or SIGTERM, so that what is saved is consistent."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """The user stopped a run.

    Attributes:
        path: The run folder, whose checkpoint resumes the run; None if it was trained without one.
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
    """Turn the first SIGINT or SIGTERM into a request to stop; the second raises KeyboardInterrupt at once.

    Signals can only be caught in the main thread, and an ignored one (such as SIGINT under nohup) stays ignored; in
    both cases no request is made.
    """
    stop = Stop()

    def ask(signum: int, frame: Any) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True

    before = {each: signal.getsignal(each) for each in SIGNALS}
    taken = [each for each, its in before.items() if its not in (signal.SIG_IGN, None)]
    if threading.current_thread() is not threading.main_thread():
        taken = []
    for each in taken:
        signal.signal(each, ask)
    try:
        yield stop
    finally:
        for each in taken:
            signal.signal(each, before[each])

"""A process that does one job after another, with its own threads, random generators and signal handlers."""

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from reweigh.errors import ReweighError
from reweigh.memory import keep_freed_memory
from reweigh.training.interrupts import SIGNALS

Attempt = Callable[[Any], str | None]  # does a job; returns what went wrong


class Answer(NamedTuple):
    """A worker has done its job, or is ready for the first."""

    failure: str | None = None


class Worker:
    """A worker, as seen by the process that distributes jobs. It ends when its pipe is closed or that process dies.

    Args:
        attempt: Does a job; a function at the top of a module. It raises nothing but KeyboardInterrupt.

    Attributes:
        pipe: A job goes in, an ``Answer`` comes out, the first before any job; in between, log records.
        key: Of the job it is at; None if it has none.
    """

    def __init__(self, attempt: Attempt) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.key: Any = None
        self.process = context.Process(target=_serve, args=(theirs, attempt))
        resource_tracker.ensure_running()  # it would let signals through
        with _signals_later():  # and in the new process once it serves
            self.process.start()
        theirs.close()

    def interrupt(self) -> None:
        """Ask it to stop. Ctrl-C in a terminal does not reach a worker, which is in its own process group."""
        if os.name == "posix" and self.process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGINT)

    def hear(self) -> Answer | logging.LogRecord:
        """Its next message, which must be waiting; if it died, an answer that its job failed.

        Raises:
            ReweighError: It died before it got a job, so another would die as well.
        """
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
        if self.key is None:
            raise ReweighError(
                f"a worker process ended right after it started (exit code {code}); a script that uses workers must "
                "start its work under: if __name__ == '__main__'"
            )
        return Answer(f"the process ended before the run did (exit code {code}); memory may have run out")


@contextmanager
def _signals_later() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM for a moment, in this process and in those that it starts."""
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []  # by other threads, which do not put them off
    before = {each: signal.getsignal(each) for each in SIGNALS}
    for each, handler in before.items():
        if handler not in (signal.SIG_IGN, None):
            signal.signal(each, lambda signum, frame: received.append(signum))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # first: what was deferred is received here
        with ExitStack() as stack:  # all of them, even if one more signal comes meanwhile
            for each, handler in before.items():
                if handler is not None:
                    stack.callback(signal.signal, each, handler)
        for each in received:
            signal.raise_signal(each)


class _Notes(logging.Handler):
    """Passes warnings to the parent process."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__(logging.WARNING)
        self.pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        record.msg, record.args, record.exc_info = record.getMessage(), None, None
        with suppress(OSError):
            self.pipe.send(record)


def _serve(pipe: Connection, attempt: Attempt) -> None:
    """The main function of a worker."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)  # forgets what came before
        signal.signal(each, signal.default_int_handler)
    if os.name == "posix":
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    threading.Thread(target=_follow_parent, daemon=True).start()
    keep_freed_memory()
    logging.getLogger("reweigh").addHandler(_Notes(pipe))
    with suppress(KeyboardInterrupt, EOFError, OSError):  # the other end is closed: nothing left to do
        pipe.send(Answer())
        while True:
            pipe.send(Answer(attempt(pipe.recv())))


def _follow_parent() -> None:
    """Stop as if interrupted when the parent process has died: another one may want to continue the same run."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGINT)

"""Jobs side by side, each in a process of its own; if one dies, the others continue, and Ctrl-C ends all of them."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from logging.handlers import BufferingHandler
from pkgutil import resolve_name
from typing import Any, TypeVar

from reweigh.memory import keep_freed_memory
from reweigh.training.loop import SIGNALS

K = TypeVar("K")

logger = logging.getLogger(__name__)


def side_by_side(attempt: str, jobs: Mapping[K, Any], workers: int, ended: Callable[[K, str | None], None]) -> None:
    """Do all jobs, several at once, each in a new process.

    Args:
        attempt: Function that does a job and returns what went wrong, such as "reweigh.compare.carry_out:attempt".
        ended: Called here as jobs end, in whatever order, with what went wrong.
    """
    crew = Crew(attempt)
    with ThreadPoolExecutor(workers) as pool:
        keys = {pool.submit(crew.do, job): key for key, job in jobs.items()}
        try:
            for future in as_completed(keys):
                ended(keys[future], future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            count = crew.interrupt()
            logger.info("interrupted: the %d current runs finish their step and save it", count)
            raise


class Crew:
    """The processes of the jobs under way, one per thread that calls ``do``."""

    def __init__(self, attempt: str) -> None:
        self._attempt = attempt
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def do(self, job: Any) -> str | None:
        """Do a job in a new process; returns what went wrong."""
        with self._lock:
            if self._stopped:
                return None
            process = _start()
            self._processes.add(process)
        assert process.stdin is not None
        assert process.stdout is not None
        answer = b""
        with process, suppress(OSError):  # its stdin stays open for as long as this process lives
            process.stdin.write(json.dumps([self._attempt, job]).encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.read()
        with self._lock:
            self._processes.discard(process)
        try:
            said = json.loads(answer)
        except ValueError:
            return f"the process ended before the run did (exit code {process.returncode}); memory may have run out"
        for words in said["warnings"]:
            logger.warning("%s", words)
        return said["failure"]

    def interrupt(self) -> int:
        """Ask every job to stop, as Ctrl-C would; no other begins. Returns how many there were."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.send_signal(signal.SIGINT) if os.name == "posix" else process.terminate()
            return len(self._processes)


def _start() -> subprocess.Popen[bytes]:
    """A process that waits for its job. Ctrl-C in a terminal does not reach it: it has its own process group."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        process_group=0 if os.name == "posix" else None,
    )


def _serve() -> None:
    """Read a job from standard input, do it, and answer on standard output."""
    for each in SIGNALS:
        signal.signal(each, signal.default_int_handler)  # a shell may have had them ignored
    answers, sys.stdout = sys.stdout, sys.stderr
    warned = BufferingHandler(sys.maxsize)  # for the process that asked
    warned.setLevel(logging.WARNING)
    try:
        attempt, job = json.loads(sys.stdin.readline())
        threading.Thread(target=_follow_parent, daemon=True).start()
        keep_freed_memory()
        logging.getLogger("reweigh").addHandler(warned)
        failure = resolve_name(attempt)(job)
        json.dump({"failure": failure, "warnings": [each.getMessage() for each in warned.buffer]}, answers)
    except KeyboardInterrupt:
        sys.exit(130)


def _follow_parent() -> None:
    """Stop as if interrupted when the parent process has died: another one may want to continue the same run."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    _serve()

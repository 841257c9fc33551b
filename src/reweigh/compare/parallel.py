"""Jobs in several processes at once; if one dies, the others continue, and Ctrl-C ends all of them cleanly."""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from multiprocessing.connection import wait
from typing import Any, TypeVar

from reweigh.compare.worker import Answer, Attempt, Worker

K = TypeVar("K")

logger = logging.getLogger(__name__)


def side_by_side(attempt: Attempt, jobs: Mapping[K, Any], workers: int, ended: Callable[[K, str | None], None]) -> None:
    """Do all jobs, several at once.

    Args:
        attempt: Does a job and returns what went wrong; see ``Worker``.
        workers: How many processes.
        ended: Called here as jobs end, in whatever order, with what went wrong.

    Raises:
        KeyboardInterrupt: Ctrl-C; every job under way was interrupted too, and has come to its end.
        ReweighError: No process can be started.
    """
    waiting = deque(jobs.items())
    crew: dict[Any, Worker] = {}
    try:
        while waiting or any(worker.key is not None for worker in crew.values()):
            while len(crew) < workers and sum(worker.key is None for worker in crew.values()) < len(waiting):
                worker = Worker(attempt)
                crew[worker.pipe] = worker
            for pipe in wait(list(crew)):
                worker = crew[pipe]
                said = worker.hear()
                if isinstance(said, logging.LogRecord):
                    logger.handle(said)
                    continue
                if worker.key is not None:
                    key, worker.key = worker.key, None
                    ended(key, said.failure)
                if worker.process.exitcode is not None or not waiting:
                    crew.pop(pipe).pipe.close()
                else:
                    worker.key, job = waiting.popleft()
                    worker.pipe.send(job)
    except KeyboardInterrupt:
        busy = [worker for worker in crew.values() if worker.key is not None]
        logger.info("interrupted: the %d current runs finish their step and save it", len(busy))
        _stop(busy)
        raise
    finally:
        for worker in crew.values():
            worker.pipe.close()  # one without a job ends at this
            if worker.key is not None:
                worker.process.terminate()


def _stop(busy: list[Worker]) -> None:
    """Interrupt the workers, again for each further Ctrl-C, and wait until each has ended."""
    asked = False
    while busy:
        try:
            if not asked:
                asked = True
                for worker in busy:
                    worker.interrupt()
            for pipe in wait([worker.pipe for worker in busy]):
                (worker,) = (worker for worker in busy if worker.pipe is pipe)
                if isinstance(worker.hear(), Answer):
                    worker.key = None
                    busy.remove(worker)
        except KeyboardInterrupt:
            asked = False

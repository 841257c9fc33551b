"""Run a function in several processes that train together, forked so that torch is imported once."""

import os
import socket
import sys
import time
import traceback
from collections.abc import Callable

import torch._dynamo  # noqa: F401 (torch imports it at the first step, in every process anew)


def several(work: Callable[[], None], processes: int, strike: Callable[[list[int]], None] | None = None) -> float:
    """Do the same work in so many processes; it fails if any of them does.

    Autograd must not have been used before: its threads do not survive a fork.

    Args:
        strike: kills one of the processes and takes it off the list; then the others may fail.

    Returns:
        The seconds from the strike to the end of the last process.
    """
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    children = []
    for process in range(processes):
        pid = os.fork()
        if pid == 0:
            os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "WORLD_SIZE": str(processes)}
            os.environ |= {"RANK": str(process), "LOCAL_RANK": str(process)}
            from reweigh.training.processes import joined

            try:
                with joined(os.getppid()):
                    work()
                os._exit(0)
            except BaseException:
                if strike is None:
                    traceback.print_exc()
                os._exit(1)
        children.append(pid)
    if strike is not None:
        strike(children)
    begun = time.monotonic()
    failed = [pid for pid in children if os.waitpid(pid, 0)[1]]
    if failed and strike is None:
        sys.exit(f"one of {processes} processes failed; see above")
    return time.monotonic() - begun

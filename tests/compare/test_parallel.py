"""Processes side by side: each job is done once, a death stays alone, an interrupt ends all."""

import logging
import multiprocessing
import os
import signal
import time

import pytest

from reweigh.compare.parallel import side_by_side
from reweigh.compare.worker import Worker

WARN = "__import__('logging').getLogger('reweigh.x').warning('mind the %s', 'gap')"

TERMINATED = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(600)
except KeyboardInterrupt:
    pass
"""


def test_every_job_is_done_and_a_death_stays_alone(caplog):
    jobs = {
        "well": "None",
        "badly": "'it went wrong'",
        "dead": "__import__('os')._exit(3)",
        "warned": WARN,
        "terminated": f"exec({TERMINATED!r})",
    }
    ended = []  # jobs are expressions, done by eval: a function that a new process finds without this file
    side_by_side(eval, jobs, 2, lambda key, failure: ended.append((key, failure)))
    assert len(ended) == len(jobs)
    found = dict(ended)
    assert "exit code 3" in (found.pop("dead") or "")
    assert found == {"well": None, "badly": "it went wrong", "warned": None, "terminated": None}
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [(logging.WARNING, "mind the gap")]


def test_an_interrupt_reaches_the_jobs_under_way(tmp_path):
    sleeps = f"""
import pathlib, time
folder = pathlib.Path({str(tmp_path)!r})
(folder / "begun").touch()
try:
    time.sleep(600)
except KeyboardInterrupt:
    (folder / "interrupted").touch()
"""
    waits = f"""
import pathlib, time
while not pathlib.Path({str(tmp_path)!r}, "begun").exists():
    time.sleep(0.01)
"""

    def interrupted(key, failure):
        assert (key, failure) == ("waits", None)
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        side_by_side(exec, {"sleeps": sleeps, "waits": waits, "never": "1 / 0"}, 2, interrupted)
    assert time.monotonic() - start < 300
    assert (tmp_path / "interrupted").exists()


def test_a_signal_while_a_worker_starts_is_put_off(monkeypatch):
    """Neither lost, nor raised in the middle of the start."""
    started = []

    class Slow:
        def __init__(self, **options):
            pass

        def start(self):
            os.kill(os.getpid(), signal.SIGTERM)
            started.append(True)

    def interrupt(signum, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    monkeypatch.setattr(multiprocessing.get_context("spawn"), "Process", Slow, raising=False)
    try:
        with pytest.raises(KeyboardInterrupt):
            Worker(eval)
        assert signal.getsignal(signal.SIGTERM) is interrupt
    finally:
        signal.signal(signal.SIGTERM, before)
    assert started == [True]

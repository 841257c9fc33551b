"""Processes side by side: each job is done once, a death stays alone, an interrupt ends all."""

import logging
import subprocess
import sys
import time

import pytest

from reweigh.compare.parallel import side_by_side

WARN = "__import__('logging').getLogger('reweigh.x').warning('mind the %s', 'gap')"

TERMINATED = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(600)
except KeyboardInterrupt:
    pass
"""


SLEEPS = """
import pathlib, time
pathlib.Path("begun").touch()
try:
    time.sleep(600)
except KeyboardInterrupt:
    pathlib.Path("interrupted").touch()
"""

WAITS = """
import pathlib, time
while not pathlib.Path("begun").exists():
    time.sleep(0.01)
"""


def test_every_job_is_done_a_death_stays_alone_and_an_interrupt_reaches_the_jobs_under_way(
    caplog, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    jobs = {
        "well": "None",
        "badly": "'it went wrong'",
        "dead": "__import__('os')._exit(3)",
        "warned": WARN,
        "terminated": f"exec({TERMINATED!r})",
        "sleeps": f"exec({SLEEPS!r})",
        "waits": f"exec({WAITS!r})",
        "never": "1 / 0",
    }
    found = {}  # jobs are expressions, done by eval: a function that a new process finds without this file

    def ended(key, failure):
        assert key not in found
        found[key] = failure
        if key == "waits":
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        side_by_side("builtins:eval", jobs, 2, ended)
    assert time.monotonic() - start < 300  # it slept no longer
    assert "exit code 3" in (found.pop("dead") or "")
    assert found == {"well": None, "badly": "it went wrong", "warned": None, "terminated": None, "waits": None}
    assert (tmp_path / "interrupted").exists()
    warned = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warned == ["mind the gap"]


FOLLOWS = """
import sys
from reweigh.compare.parallel import side_by_side
side_by_side("builtins:eval", {"sleeps": sys.argv[1]}, 2, print)
"""


def test_a_job_ends_if_the_process_that_asked_for_it_is_killed(tmp_path):
    asking = subprocess.Popen([sys.executable, "-c", FOLLOWS, f"exec({SLEEPS!r})"], cwd=tmp_path)
    for name in ("begun", "interrupted"):
        late = time.monotonic() + 120
        while not (tmp_path / name).exists() and time.monotonic() < late:
            time.sleep(0.05)
        assert (tmp_path / name).exists()
        asking.kill()
    asking.wait()

"""The tests of ``tests/device``, in a process of their own: they register a device that other tests would find."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from packaging.version import Version

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(Version(torch.__version__) < Version("2.9"), reason="torch before 2.9 has no devices in Python")
def test_everything_runs_on_a_device() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests/device"]
    environment["REWEIGH_TEST_DEVICE"] = "1"
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout, done.stdout

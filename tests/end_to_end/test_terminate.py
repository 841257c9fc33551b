"""SIGTERM ends a run as Ctrl-C does, a second one at once; a killed run is never called running."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest


@pytest.fixture
def training(tmp_path):
    """A run under way, in another process."""
    command = [sys.executable, "-m", "reweigh", "train", "demo", "train.epochs=100000", "--out", "run"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 600
    while not (tmp_path / "run" / "checkpoint" / "last.safetensors").exists():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.05)
    yield process
    process.kill()
    process.communicate()


def listed(tmp_path):
    command = [sys.executable, "-m", "reweigh", "list", "runs", "."]
    return subprocess.run(command, cwd=tmp_path, env=os.environ, text=True, capture_output=True, check=True).stdout


def test_sigterm_says_how_to_resume(training, tmp_path):
    assert "running" in listed(tmp_path)
    second = [sys.executable, "-m", "reweigh", "train", "--resume", "run"]
    refused = subprocess.run(second, cwd=tmp_path, env=os.environ, text=True, capture_output=True)
    assert refused.returncode == 2
    assert f"run: process {training.pid} on" in refused.stderr
    training.terminate()
    _, words = training.communicate(timeout=600)
    assert training.returncode == 130, words
    assert "reweigh train --resume run" in words.splitlines()[-1]
    assert "Traceback" not in words
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["status"] == "interrupted"
    assert not (tmp_path / "run" / ".lock").exists()


def test_a_killed_run_is_interrupted(training, tmp_path):
    training.send_signal(signal.SIGKILL)
    training.wait()
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["status"] == "running"
    said = listed(tmp_path)
    assert "interrupted" in said
    assert "running" not in said

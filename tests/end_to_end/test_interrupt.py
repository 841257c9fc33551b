"""Ctrl-C ends a run cleanly, says how to resume it, and exits 130; a killed run is never called running.

SIGTERM, which the command takes for Ctrl-C, is sent to a comparison in test_interrupt_compare.py.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from reweigh.cli.app import app


@pytest.fixture
def training(tmp_path, monkeypatch):
    """A run under way, in another process."""
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "reweigh", "train", "demo", "train.epochs=100000", "--out", "run"]
    # A shell gives background jobs an ignored SIGINT; a terminal does not, so neither does this.
    process = subprocess.Popen(
        command, env=os.environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    until = time.monotonic() + 600
    while not (tmp_path / "run" / "checkpoint" / "last.safetensors").exists():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.05)
    yield process
    process.kill()
    process.communicate()


def listed():
    result = CliRunner().invoke(app, ["list", "runs", "."])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_ctrl_c_says_how_to_resume(training, tmp_path):
    assert "running" in listed()
    refused = CliRunner().invoke(app, ["train", "--resume", "run"])
    assert refused.exit_code == 2
    assert f"run: process {training.pid} on" in refused.stderr
    training.send_signal(signal.SIGINT)
    _, words = training.communicate(timeout=600)
    assert training.returncode == 130, words
    assert "reweigh train --resume run" in words.splitlines()[-1]
    assert "Traceback" not in words
    assert (tmp_path / "run" / "checkpoint" / "last.safetensors").is_file()
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["status"] == "interrupted"
    assert not (tmp_path / "run" / ".lock").exists()


def test_a_killed_run_is_interrupted(training, tmp_path):
    training.send_signal(signal.SIGKILL)
    training.wait()
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["status"] == "running"
    said = listed()
    assert "interrupted" in said
    assert "running" not in said

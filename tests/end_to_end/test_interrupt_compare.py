"""SIGTERM, and so Ctrl-C, ends every run of a comparison cleanly, also in other processes, and says how to continue."""

import json
import os
import signal
import subprocess
import sys
import time

from reweigh.training import Run
from reweigh.training.run import status


def test_a_signal_reaches_every_worker(tmp_path):
    """The command takes SIGTERM for Ctrl-C, so this tests both."""
    words = ["compare", "demo", "train.epochs=100000", "--methods", "erm,mw-net", "--seeds", "1", "--biases", "clean"]
    command = [sys.executable, "-m", "reweigh", *words, "--out", "runs", "--workers", "2"]
    # A shell gives background jobs an ignored SIGINT, with which workers are interrupted; a terminal does not.
    process = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    runs = [tmp_path / "runs" / "clean" / name for name in ("erm-seed0", "mw-net-seed0")]
    try:
        until = time.monotonic() + 900
        while not all((run / "metrics.jsonl").exists() for run in runs):
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert said.splitlines()[-2:] == [
        "interrupted; 0 of 2 runs are done; continue with:",
        f"reweigh {' '.join(words[:3])} --methods erm,mw-net --biases clean --seeds 1 --out runs --workers 2 --resume",
    ]
    assert "Traceback" not in said
    for run in runs:
        assert (run / "checkpoint" / "last.safetensors").is_file()
        assert json.loads((run / "summary.json").read_text())["status"] == "interrupted"
        assert status(Run(run)) == "interrupted"

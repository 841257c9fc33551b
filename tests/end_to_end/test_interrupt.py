"""Ctrl-C ends a run cleanly, says how to resume it, and exits 130."""

import json
import os
import signal
import subprocess
import sys
import time


def test_ctrl_c_says_how_to_resume(tmp_path):
    command = [sys.executable, "-m", "reweigh", "train", "demo", "train.epochs=100000", "--out", "run"]
    # A shell gives background jobs an ignored SIGINT; a terminal does not, so neither does this.
    process = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        until = time.monotonic() + 600
        while not (tmp_path / "run" / "metrics.jsonl").exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 130, words
    assert "reweigh train --resume run" in words.splitlines()[-1]
    assert "Traceback" not in words
    assert (tmp_path / "run" / "checkpoint" / "last.safetensors").is_file()
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["status"] == "interrupted"

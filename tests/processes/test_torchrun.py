import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
TRAIN = ["train", "demo", "train.epochs=6", "method.every=10", "train.checkpoint_steps=5"]


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_killed_process_is_restarted_and_the_run_goes_on(tmp_path: Path) -> None:
    together = tmp_path / "together"
    command = [*TORCHRUN, "--max-restarts=1", Path(__file__).with_name("dying.py"), *TRAIN, "--out", together]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "continuing after" in done.stderr  # it was continued, not begun again
    assert done.stderr.count("epoch 6/6") == 1  # one process draws and writes
    assert done.stdout.count("Run folder") == 1
    lines = (together / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert json.loads((together / "summary.json").read_text())["status"] == "finished"

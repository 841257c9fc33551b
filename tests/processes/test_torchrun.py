import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TRAIN = ["-m", "reweigh", "train", "demo", "train.epochs=3", "method.every=10"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]


def workers(torchrun: int) -> list[int]:
    """The processes that torchrun has started."""
    return list(map(int, Path(f"/proc/{torchrun}/task/{torchrun}/children").read_text().split()))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_a_killed_process_is_restarted_and_the_run_goes_on(tmp_path: Path) -> None:
    together = tmp_path / "together"
    command = [*TORCHRUN, "--max-restarts=1", *TRAIN, "train.checkpoint_steps=5", "--out", together]
    begun = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    metrics = together / "metrics.jsonl"
    while not metrics.exists() and begun.poll() is None:
        time.sleep(0.05)
    os.kill(workers(begun.pid)[-1], signal.SIGKILL)
    out, err = begun.communicate()
    assert begun.returncode == 0, err
    assert "another process of this training has ended" in err
    assert err.count("epoch 3/3") == 1  # one process draws and writes
    assert out.count("Run folder") == 1
    assert [json.loads(line)["epoch"] for line in metrics.read_text().splitlines()] == [1, 2, 3]
    assert json.loads((together / "summary.json").read_text())["status"] == "finished"

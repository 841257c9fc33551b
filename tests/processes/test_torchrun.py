import json
import os
import signal
import socket
import subprocess
import sys
import time
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


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_process_that_waits_for_one_that_has_died_can_be_ended() -> None:
    """As torchrun does; it would kill a process that does not end only after 30 seconds."""
    waits = (
        "import os, signal\n"
        "from reweigh.training import processes\n"
        "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        "print('waiting', flush=True)\n"
        "with processes.joined(os.getppid()): pass"
    )
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    alone = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": port}
    with subprocess.Popen(
        [sys.executable, "-c", waits], env={**os.environ, **alone}, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(1)  # it waits by then
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(timeout=20) == -signal.SIGTERM
        finally:
            process.kill()

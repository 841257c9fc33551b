import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

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


def test_what_fails_in_one_process_ends_the_report_of_torchrun(tmp_path: Path) -> None:
    for kind in "ab":
        (tmp_path / "photos" / kind).mkdir(parents=True)
        for number in range(10):
            Image.effect_noise((24, 24), 50).save(tmp_path / "photos" / kind / f"{number}.png")
    file = tmp_path / "photos" / "b" / "7.png"
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    file.with_name("other.png").write_text("not an image")
    options = ["data.name=files", f"data.path={tmp_path / 'photos'}", "data.memory_gb=0", "data.bias=[]", "--out"]
    command = [*TORCHRUN, "-m", "reweigh", "train", "demo", "train.epochs=1", "train.warmup_epochs=0", *options]
    done = subprocess.run([*command, tmp_path / "run"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("other.png") == 1
    assert f"{file}: not a readable image" in done.stderr.partition("Root Cause")[2]


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

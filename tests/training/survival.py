"""Kill a training process at random moments, resume it each time, and compare it with one that was left alone.

    python survival.py JOB.py FOLDER KILLS SEED [ARGUMENT ...]

JOB.py defines ``job(path, *arguments)``, which trains to the end in the run folder ``path``, begun or continued. It is
loaded once, and every life is a fork of this process: torch is imported once, and a life begins in milliseconds.
The whole run goes to FOLDER/whole, the killed one to FOLDER/killed. Prints JSON: ``kills``, the epochs that were done
at each of them; ``parts``, how many kills left a half-written file; ``different``, the files that are not the same.
"""

import importlib
import json
import os
import random
import runpy
import shutil
import signal
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import torch
from safetensors import safe_open


def live(job: Callable[[], None], moment: float | None = None) -> bool:
    """Run a job in a fork, kill it after ``moment`` seconds, and tell whether it came to its own end before."""
    pid = os.fork()
    if pid == 0:
        try:
            job()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if moment is not None:
        time.sleep(moment)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        sys.exit("the job failed; see above")
    return os.WIFEXITED(status)


def and_list_modules(job: Callable[[], None], file: Path) -> None:
    """Do a job and list what it imported: torch imports a lot at the first step, here once for all lives."""
    job()
    file.write_text("\n".join(sys.modules))


def split(total: float, kills: int, rng: random.Random) -> list[float]:
    """Random stretches of time that are together as long as ``total``."""
    cuts = sorted(rng.uniform(0, total) for _ in range(kills - 1))
    return [end - start for start, end in zip([0, *cuts], [*cuts, total], strict=True)]


def content(file: Path) -> object:
    """What must be the same: all but the time that an epoch took, which metrics, summary and checkpoint hold."""
    if file.name == "metrics.jsonl":
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]
    if file.name == "SHA256SUMS":  # of the files that hold times, only that they are sealed
        lines = [line.split() for line in file.read_text().splitlines() if not line.startswith("#")]
        return {name: name in ("metrics.jsonl", "summary.json") or checksum for checksum, name in lines}
    if file.parent.name != "checkpoint":
        return file.read_bytes()
    with safe_open(file, "np") as opened:
        return {name: opened.get_tensor(name).tobytes() for name in opened.keys()}  # noqa: SIM118 (not a dict)


def different(one: Path, other: Path) -> list[str]:
    """The files that are not the same in two finished runs, except the summary, which is made from the metrics."""
    paths = {file.relative_to(run) for run in (one, other) for file in run.rglob("*") if file.is_file()}
    paths.discard(Path("summary.json"))
    both = [path for path in paths if (one / path).exists() and (other / path).exists()]
    return sorted(str(path) for path in paths if path not in both or content(one / path) != content(other / path))


def kill_and_resume(job: Callable[[], None], path: Path, moments: list[float]) -> tuple[list[int], int]:
    """Live as many lives as there are moments, each killed when it is that old, or until the job is done.

    Returns the epochs that were done at each kill, and how many kills left a half-written file.
    """
    shutil.rmtree(path, ignore_errors=True)
    metrics = path / "metrics.jsonl"
    epochs, parts = [], 0
    for moment in moments:
        if live(job, moment):
            break
        epochs.append(metrics.read_text().count("\n") if metrics.exists() else 0)
        parts += any(path.rglob("*.part"))
    return epochs, parts


def main(job_file: str, folder: str, kills: str, seed: str, *arguments: str) -> None:
    torch.set_num_threads(1)
    job = runpy.run_path(job_file)["job"]
    whole, killed = Path(folder, "whole"), Path(folder, "killed")
    rng = random.Random(int(seed))
    train_whole, train_killed = partial(job, whole, *arguments), partial(job, killed, *arguments)
    live(partial(and_list_modules, train_whole, Path(folder, "modules.txt")))
    for name in Path(folder, "modules.txt").read_text().split():
        with suppress(Exception):
            importlib.import_module(name)
    epochs = [json.loads(line)["seconds"] for line in (whole / "metrics.jsonl").read_text().splitlines()]
    total = 0.9 * len(epochs) * statistics.median(epochs)
    begun = time.perf_counter()
    live(train_whole)  # nothing is left to train
    idle = time.perf_counter() - begun  # what a life spends besides
    epochs, parts = [], 0
    while len(epochs) < int(kills):  # a machine that is suddenly faster ends the run before the last kill: once more
        moments = [0.8 * idle + stretch for stretch in split(total, int(kills), rng)]
        epochs, parts = kill_and_resume(train_killed, killed, moments)
        total *= 0.7
    live(train_killed)
    print(json.dumps({"kills": epochs, "parts": parts, "different": different(whole, killed)}))


if __name__ == "__main__":
    main(*sys.argv[1:])

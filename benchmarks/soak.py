"""Long runs in fast motion: is anything lost, does anything grow? Three parts, one line per method each.

    python benchmarks/soak.py flat --steps 20000    # memory, descriptors and threads while every method trains
    python benchmarks/soak.py kills --kills 300     # SIGKILL at random moments and resume, against a run left alone
    python benchmarks/soak.py faults --faults 300   # short writes, EIO, ENOSPC, EINTR, failed renames, likewise

``--methods erm,cmw-net`` chooses methods, ``compare`` among them: a comparison with two workers, of which it kills the
first process or one of the others. ``--minutes M`` begins nothing later. Every line joins ``--record FILE``, and the
next call goes on with what was tried least, so that many short calls add up. The exit code is 1 if something grew or
differed.
"""

import argparse
import builtins
import errno
import gc
import json
import os
import random
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from reweigh.errors import DataError, StorageError
from reweigh.files import whole
from reweigh.files.lock import owner
from reweigh.fit.run_folder import begin, resume
from reweigh.methods import METHODS
from reweigh.plan.tables import method_named
from reweigh.recipes.check import check, for_method
from reweigh.recipes.read import read
from reweigh.training import Run
from reweigh.training.progress import Silent

GROWTH = 20.0  # megabytes that may come and go
SURVIVAL = Path(__file__).parents[1] / "tests" / "training" / "survival.py"
IMAGES_ONLY = ("cmw-net-sl+", "simclr")  # they need transforms of images


def recipe(method: str, epochs: int, more: Sequence[str] = ()) -> Any:
    """Digits, a small network, epochs of about ten steps; warm-up first."""
    kind = method_named(method)
    changes = [f"train.epochs={epochs}", "train.warmup_epochs=1", "model.name=mlp", "model.hidden=[16]"]
    changes += ["train.batch_size=128", "train.num_threads=1", "train.checkpoint_steps=7", *more]
    if kind.unlabeled:
        changes += ["data.labeled=200"]
    if kind.candidates:
        changes += ["data.bias=[]", "data.candidates={name='independent', q=0.3}"]
    return check(for_method(read("demo", changes), method))


def job(path: Path, method: str, steps: str) -> None:
    """A job for tests/training/survival.py."""
    if Run(path).recipe.is_file():
        resume(path)
    else:
        begin(recipe(method, int(steps) // 10), path)


class Watch(Silent):
    """Counts steps, and notes memory, descriptors and threads after every epoch."""

    def __init__(self) -> None:
        self.done = 0
        self.seen: list[tuple[float, int, int]] = []

    def start(self, epochs: int, steps: int, done: int) -> None:
        self.steps = steps

    def epoch(self, line: Any) -> None:
        self.done += self.steps
        gc.collect()
        self.seen.append((resident(), len(os.listdir("/proc/self/fd")), threading.active_count()))


def resident() -> float:
    """Memory of this process in megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def flat(method: str, folder: Path, steps: int, seed: int) -> tuple[str, bool]:
    """Train for many steps, again and again if training ends by itself; compare the second quarter with the last."""
    watch = Watch()
    begun = time.monotonic()
    gc.freeze()  # what is imported: a quarter of a second for every collection
    while watch.done < steps:
        changes = ["train.batch_size=16", "train.checkpoint_steps=50"]
        begin(recipe(method, steps // 79 + 1, changes), folder / f"run-{watch.done}", watch)
    quarter = max(1, len(watch.seen) // 4)
    early, late = watch.seen[quarter : 2 * quarter], watch.seen[-quarter:]
    memory = sum(one[0] for one in late) / len(late) - sum(one[0] for one in early) / len(early)
    same = {one[1:] for one in early} == {one[1:] for one in late}
    words = f"{watch.done:,} steps in {time.monotonic() - begun:.0f} s, memory {memory:+.1f} MB of {late[-1][0]:.0f}"
    words += f", descriptors and threads {watch.seen[-1][1:]}"
    return words, memory < GROWTH and same


def kills(method: str, folder: Path, count: int, seed: int) -> tuple[str, bool]:
    """Kill and resume; every file must be, byte for byte, that of a run left alone."""
    if method == COMPARISON:
        found = kill_comparison(folder, count, random.Random(seed))
    else:
        command = [sys.executable, SURVIVAL, __file__, folder, str(count), str(seed), method, "120"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode:
            return f"failed: {done.stderr[-500:]}", False
        found = json.loads(done.stdout)
    words = f"{len(found['kills'])} kills, {found['parts']} amid a write, different: {found['different'] or 'nothing'}"
    return words, not found["different"]


def kill_comparison(folder: Path, count: int, draw: random.Random) -> dict[str, Any]:
    """Kill a comparison with workers, or one of its workers, and resume it, as often as asked for."""
    methods = ["erm", "cmw-net", "two-looks", "cmw-net-sl"]
    words = ["compare", "demo", "train.epochs=12", "train.checkpoint_steps=7", "--methods", ",".join(methods)]
    command = [sys.executable, "-m", "reweigh", *words, "--seeds", "1", "--workers", "2", "--resume", "--out"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    whole, killed = folder / "whole", folder / "killed"
    begun = time.monotonic()
    subprocess.run([*command, str(whole)], check=True, **quiet)
    total, epochs, parts = time.monotonic() - begun, [], 0
    while len(epochs) < count:
        process = subprocess.Popen([*command, str(killed)], **quiet)
        time.sleep(draw.uniform(0.3, 0.7) * total)
        if process.poll() is None:
            crew = [pid for pid in children(process.pid) if "spawn_main" in command_line(pid)]
            os.kill(draw.choice([process.pid, *crew]), signal.SIGKILL)
            epochs.append(sum(file.read_text().count("\n") for file in killed.rglob("metrics.jsonl")))
            parts += any(killed.rglob("*.part"))
        else:  # nothing was left to do
            shutil.rmtree(killed)
        process.wait()
        while any(owner(file.parent) for file in killed.rglob("recipe.toml")):  # the others finish their step
            time.sleep(0.1)
    subprocess.run([*command, str(killed)], check=True, **quiet)
    runs = [file.parent.relative_to(whole) for file in whole.rglob("recipe.toml")]
    different = runpy.run_path(str(SURVIVAL))["different"]
    return {
        "kills": epochs,
        "parts": parts,
        "different": [f"{run}/{name}" for run in runs for name in different(whole / run, killed / run)],
    }


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def command_line(pid: int) -> str:
    """What a process was started with."""
    return Path(f"/proc/{pid}/cmdline").read_text()


@contextmanager
def failing(draw: random.Random, rate: float, count: list[int]) -> Iterator[None]:
    """Let writes of the package fail at random, in every way that a disk or a network has."""
    replace, fsync, mkdir = os.replace, os.fsync, os.mkdir

    def maybe(*numbers: int) -> None:
        if draw.random() < rate:
            count[0] += 1
            number = draw.choice(numbers)
            raise OSError(number, os.strerror(number))

    class Short:
        """A file of which only a part may arrive."""

        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> "Short":
            return self

        def __exit__(self, *error: Any) -> None:
            self.file.close()

        def write(self, data: Any) -> None:
            if draw.random() < rate:
                count[0] += 1
                self.file.write(data[: draw.randrange(len(data) + 1)])
                self.file.flush()
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.file.write(data)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    def opened(*arguments: Any, **options: Any) -> Any:
        maybe(errno.EIO, errno.ENOSPC, errno.EMFILE, errno.EINTR, errno.EROFS, errno.EACCES)
        return Short(builtins.open(*arguments, **options))

    def renamed(*arguments: Any, **options: Any) -> None:
        maybe(errno.EIO, errno.ESTALE, errno.ENOSPC)
        replace(*arguments, **options)

    def flushed(descriptor: int) -> None:
        maybe(errno.EIO, errno.ENOSPC, errno.EDQUOT)
        fsync(descriptor)

    whole.open = opened  # type: ignore[attr-defined]
    os.replace, os.fsync = renamed, flushed
    try:
        yield
    finally:
        del whole.open  # type: ignore[attr-defined]
        os.replace, os.fsync, os.mkdir = replace, fsync, mkdir


def faults(method: str, folder: Path, count: int, seed: int) -> tuple[str, bool]:
    """Train while writes fail, and resume after each error until all is written; as often as it takes."""
    plan, draw, injected, lives, wrong, changed = recipe(method, 6), random.Random(seed), [0], 0, [], set()
    begin(plan, folder / "whole")
    while injected[0] < count:
        run = Run(folder / f"failing-{lives}")
        while True:
            lives += 1
            try:
                with failing(draw, 0.02, injected):
                    if run.recipe.is_file():
                        resume(run.path)
                    else:
                        begin(plan, run.path)
                break
            except (StorageError, DataError) as error:
                if ".part" in str(error) or str(run.path) not in str(error):
                    wrong.append(str(error))
        changed |= set(runpy.run_path(str(SURVIVAL))["different"](folder / "whole", run.path))
    words = (
        f"{injected[0]} faults, {lives} lives, different: {sorted(changed) or 'nothing'}, vague messages: {len(wrong)}"
    )
    return words + "".join(f"\n    {line}" for line in wrong[:3]), not changed and not wrong


def main() -> int:
    """Do one part for each method, until time or the number is reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--steps", type=int, default=20_000, help="per method")
    parser.add_argument("--kills", type=int, default=300, help="over all methods")
    parser.add_argument("--faults", type=int, default=300, help="over all methods")
    parser.add_argument("--methods", help="names, separated by commas; all by default")
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--record", type=Path, default=Path("soak.jsonl"), help="file that adds up the calls")
    given = parser.parse_args()
    torch.set_num_threads(1)
    methods = [name for name in METHODS if name not in IMAGES_ONLY] + [COMPARISON] * (given.part == "kills")
    methods = given.methods.split(",") if given.methods else methods
    amount = {"flat": given.steps, "kills": AT_ONCE, "faults": AT_ONCE}[given.part]
    wanted = {"flat": given.steps * len(methods), "kills": given.kills, "faults": given.faults}[given.part]
    until = time.monotonic() + 60 * given.minutes
    while True:
        lines = [json.loads(line) for line in given.record.read_text().splitlines()] if given.record.exists() else []
        lines = [line for line in lines if line["part"] == given.part]
        done = Counter(dict.fromkeys(methods, 0))
        for line in lines:
            done[line["method"]] += line["amount"]
        if sum(done.values()) >= wanted or time.monotonic() > until:
            break
        method = min(methods, key=lambda name: done[name])
        with tempfile.TemporaryDirectory() as folder:
            words, good = PARTS[given.part](method, Path(folder), amount, len(lines))
        line = {"part": given.part, "method": method, "amount": amount, "good": good, "words": words}
        with open(given.record, "a") as file:
            file.write(json.dumps(line) + "\n")
        print(f"{method:22} {'ok ' if good else 'BAD'} {words}", flush=True)
    bad = [line for line in lines if not line["good"]]
    print(f"{sum(done.values()):,} of {wanted:,} {given.part} over {len(+done)} methods, {len(bad)} bad: {dict(done)}")
    return 1 if bad else 0


PARTS = {"flat": flat, "kills": kills, "faults": faults}
AT_ONCE = 10  # kills or faults of one method before the next has its turn
COMPARISON = "compare"

if __name__ == "__main__":
    sys.exit(main())

"""Several processes beside one: how far apart their results are, what they send, how fast they are, how they fail.

python benchmarks/processes.py exact [N [METHOD ...]]    # methods, engines, look-aheads, normalizers, scopes; N = 2, 3
python benchmarks/processes.py rounding [METHOD ...]    # one process beside itself with weights changed in the last bit
python benchmarks/processes.py bytes    # sent in a step, relative to plain DistributedDataParallel
python benchmarks/processes.py speed    # of two processes, one thread each, relative to one
python benchmarks/processes.py kills    # 30 random kills of a process, resumed each time
python benchmarks/processes.py torchrun [N [SEED]]    # N random kills (30) of torchrun or of a process of it
"""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

TESTS = Path(__file__).parents[1] / "tests" / "processes"
sys.path.insert(0, str(TESTS))

import torch  # noqa: E402
from launch import several  # noqa: E402  # pyright: ignore[reportMissingImports]
from torch import Tensor, distributed  # noqa: E402

from reweigh import Reweighter, models  # noqa: E402
from reweigh.core.jvp import ENGINES  # noqa: E402
from reweigh.core.learner import Order  # noqa: E402
from reweigh.core.objective import NORMALIZERS  # noqa: E402
from reweigh.core.shards import shard  # noqa: E402
from reweigh.training import processes  # noqa: E402

BATCH, STEPS, ROUNDS = 128, 10, 5


def exact(numbers: tuple[str, ...] = ("2", "3"), chosen: tuple[str, ...] = ()) -> None:
    """The largest difference from one process, float64; ``difference`` is itself only exact to about 1e-8."""
    options = itertools.product(ENGINES, ("virtual", "real"), NORMALIZERS, ("all", "last-layer"))
    keys = ("engine", "lookahead", "normalize", "scope")
    grid = [":".join(["cmw-net", *(f"{k}={v}" for k, v in zip(keys, some, strict=True))]) for some in options]
    for number, names in itertools.product(numbers, (list(chosen),) if chosen else ([], grid)):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(TESTS / "training.py"), folder, number, *names]
            outcome = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        found: dict[str, float] = outcome["methods"]
        for title, some in (
            ("exact", {name: its for name, its in found.items() if "=difference" not in name}),
            ("engine difference", {name: its for name, its in found.items() if "=difference" in name}),
        ):
            if some:
                worst = sorted(some, key=some.__getitem__, reverse=True)[:3]
                largest = ", ".join(f"{some[name]:.1e} ({name})" for name in worst)
                print(f"{number} processes, {title}: {len(some)} cases, at most {largest}", flush=True)
        print(f"{number} processes: stopped and resumed by 2, 3, 1 and 1 processes: {outcome['resumed']:.1e}")


def rounding(chosen: list[str]) -> None:
    """How far one process is from itself if its initial weights are changed in their last bit."""
    import training  # pyright: ignore[reportMissingImports]

    plain, generator = training.network, torch.Generator().manual_seed(0)

    def changed(*arguments: Any) -> torch.nn.Module:
        model = plain(*arguments)
        with torch.no_grad():
            for parameter in model.parameters():  # up or down: BatchNorm would undo a common factor
                sign = 2 * torch.randint(2, parameter.shape, generator=generator).to(parameter) - 1
                parameter.mul_(1 + torch.finfo(parameter.dtype).eps * sign)
        return model

    for name in chosen:
        runs: list[dict[str, Tensor]] = []
        for training.network in (plain, changed):
            runs.append(training.trained(name))
        far = {key: float((runs[0][key] - runs[1][key]).double().abs().max()) for key in runs[0]}
        worst = max(far, key=far.__getitem__)
        print(f"{name}: {far[worst]:.1e} in {worst}, whose largest value is {float(runs[0][worst].abs().max()):.3g}")


def problem(name: str, lookahead: Order, scope: str = "all", size: int = BATCH) -> tuple[Reweighter, list[Tensor], int]:
    """A network with its reweighter, a batch with trusted samples, and the bytes of its parameters."""
    torch.manual_seed(0)
    model = models.build(name, (3, 32, 32), 10)
    if processes.several():
        shard(model)
    labels = torch.arange(size) % 10
    batch = [torch.rand(size, 3, 32, 32), labels, torch.rand(size, 3, 32, 32), labels]
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    reweighter = Reweighter(model, optimizer, labels, every=2, lookahead=lookahead, scope=scope)
    return reweighter, batch, sum(p.numel() * p.element_size() for p in model.parameters())


def sent() -> None:
    """Bytes that a process hands to each exchange; DistributedDataParallel hands over its gradients once."""
    count = 0
    reduce, gather, broadcast = distributed.all_reduce, distributed.all_gather, distributed.broadcast

    def counted(exchange: Callable[..., Any], which: int) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += args[which].numel() * args[which].element_size()
            return exchange(*args, **kwargs)

        return call

    distributed.all_reduce, distributed.all_gather = counted(reduce, 0), counted(gather, 1)
    distributed.broadcast = counted(broadcast, 0)
    cases = [(name, order, "all") for name in ("cnn", "resnet32") for order in get_args(Order)]
    cases += [("resnet32", "virtual", "last-layer"), ("resnet50", "virtual", "all")]
    for name, lookahead, scope in cases:
        reweighter, batch, plain = problem(name, lookahead, scope, 8 if name == "resnet50" else BATCH)
        norms = [m for m in reweighter.model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
        # SyncBatchNorm sends a mean and a deviation per channel in the forward, and their gradients in the backward
        synced = (plain + sum(4 * 4 * norm.num_features for norm in norms)) / plain
        ratios = []
        for _ in range(4):
            count = 0
            reweighter.step(*batch)
            ratios.append(count / plain)
        if processes.is_first():
            for what, base in (("plain DDP", 1.0), ("DDP with SyncBatchNorm", synced)):
                numbers = f"learning step {ratios[2] / base:.3f}, other step {ratios[3] / base:.4f} times {what}"
                print(f"{name}, {lookahead}, scope {scope}: {numbers}", flush=True)


def timed(file: Path, name: str) -> None:
    """Write the seconds, and those of the processor, that some steps take in the first process, after two others."""
    reweighter, batch, _ = problem(name, "virtual")
    for _ in range(2):
        reweighter.step(*batch)
    begun, processor = time.perf_counter(), time.process_time()
    for _ in range(STEPS):
        reweighter.step(*batch)
    if processes.is_first():
        file.write_text(f"{time.perf_counter() - begun} {time.process_time() - processor}")


def speed() -> None:
    """One process against two, alternating; the median of the ratios.

    The ratio of processor times leaves out the waiting for each other, and so is a bound; other work on the machine
    hardly changes it.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cnn", "resnet32"):
            pairs = []
            for _ in range(ROUNDS):
                taken = []
                for number in (1, 2):
                    several(partial(timed, Path(folder, "seconds"), name), number)
                    taken.append([float(word) for word in Path(folder, "seconds").read_text().split()])
                pairs.append([one / two for one, two in zip(*taken, strict=True)])
            for what, ratios in zip(("time", "processor time"), zip(*pairs, strict=True), strict=True):
                middle, least, most = sorted(ratios)[ROUNDS // 2], min(ratios), max(ratios)
                print(f"{name}: two processes are {middle:.2f} times as fast as one by {what} ({least:.2f}-{most:.2f})")


def kills(number: int = 30) -> None:
    """Kill a process at random moments, resume with two or three, and compare the end with one process."""
    import training  # pyright: ignore[reportMissingImports]

    rng, ends, lives = random.Random(0), [], 0
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        while lives < number:
            lives += 1
            begun = time.monotonic() + rng.uniform(0.3, 4.0)

            def strike(children: list[int], when: float = begun) -> None:
                time.sleep(max(0.0, when - time.monotonic()))
                victim = rng.choice(children)
                if os.waitpid(victim, os.WNOHANG)[0] == 0:
                    os.kill(victim, signal.SIGKILL)
                    os.waitpid(victim, 0)
                children.remove(victim)

            struck = several(partial(training.stopped, here, 10**6), rng.choice((2, 3)), strike)
            ends.append(struck)
            if (here / "resumed.pt").exists():
                (here / "resumed.pt").unlink()
                for file in sorted((here / "run").rglob("*"), reverse=True):
                    file.unlink() if file.is_file() else file.rmdir()
                (here / "run").rmdir()
        training.stopped(here, 10**6)
        far = training.apart(torch.load(here / "resumed.pt"), training.trained("cmw-net-sl"))
    print(f"{lives} kills: the others ended within {max(ends):.1f} s; the end differs from one process by {far:.1e}")


def torchrun_kills(number: int = 30, seed: int = 1) -> None:
    """Kill torchrun or one of its processes at random moments of ``reweigh train``, and resume each time."""
    from safetensors.torch import load_file

    rng, ends, kinds = random.Random(seed), [], []
    changes = ["demo", "train.epochs=40", "method.every=2", "train.checkpoint_steps=10"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "-m", "reweigh", "train"]
    with tempfile.TemporaryDirectory() as folder:
        run, alone = Path(folder, "run"), Path(folder, "alone")

        def arguments() -> list[str]:
            return ["--resume", str(run)] if (run / "recipe.toml").exists() else [*changes, "--out", str(run)]

        while len(ends) < number:
            with open(Path(folder, "log"), "wb") as log:
                begun = subprocess.Popen([*torchrun, *arguments()], stdout=log, stderr=log, start_new_session=True)
            listed, children = Path(f"/proc/{begun.pid}/task/{begun.pid}/children"), []
            while begun.poll() is None and len(children) < 2:
                time.sleep(0.1)
                children = [int(pid) for pid in listed.read_text().split()]
            time.sleep(rng.uniform(1, 25))
            if begun.poll() is not None:
                if begun.returncode:
                    sys.exit(Path(folder, "log").read_text())
                shutil.rmtree(run)
                continue
            victim = rng.choice([begun.pid, *children])
            os.kill(victim, signal.SIGKILL)
            struck = time.monotonic()
            while begun.poll() is None or any(Path(f"/proc/{pid}/cmdline").exists() for pid in children):
                time.sleep(0.05)
            ends.append(time.monotonic() - struck)
            kinds.append("torchrun" if victim == begun.pid else "process")
            print(f"{kinds[-1]} killed; all had ended after {ends[-1]:.1f} s", flush=True)
        reweigh = [sys.executable, "-m", "reweigh", "train"]
        for command in (arguments(), [*changes, "--out", str(alone)]):
            subprocess.run([*reweigh, *command], check=True, capture_output=True)
        ours, theirs = (load_file(path / "model.safetensors") for path in (run, alone))
        far = max(float((ours[key].double() - theirs[key].double()).abs().max()) for key in ours)
    print(
        f"{kinds.count('torchrun')} kills of torchrun and {kinds.count('process')} of a process: all ended within "
        f"{max(ends):.1f} s; the end differs from one undisturbed process by {far:.1e} (float32)"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    verbs = {"bytes": lambda: several(sent, 2), "speed": speed, "kills": kills}
    verbs["exact"] = lambda: exact(*([tuple(sys.argv[2:3]), tuple(sys.argv[3:])] if sys.argv[2:] else []))
    verbs["rounding"] = lambda: rounding(sys.argv[2:] or ["ldam", "ldam-drw", "ldam+cmw-net", "erm", "cmw-net"])
    verbs["torchrun"] = lambda: torchrun_kills(*map(int, sys.argv[2:]))
    verbs[sys.argv[1]]()

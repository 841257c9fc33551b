"""Time and memory of every engine and of its rivals, as ratios to a plain training step of the same run.

    python benchmarks/engines.py [--quick] [--models resnet32,mlp,transformer] [--rounds 9] [--json PATH]

Process time on one thread, with an allocator that keeps freed memory, for all alike: otherwise the time to get it back
from the system depends on what ran before. A round measures every configuration once, in an order of its own; a first
round warms up. Learning in each tenth step is measured over all ten steps; ``every`` 0 never learns, only weighs.
Memory is the peak of a fresh process above what it held before its first step.
"""

import argparse
import gc
import json
import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from typing import NamedTuple

import torch
from rich.box import MARKDOWN
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor, nn
from torch.optim import SGD

from peers import CLASSES, PEERS, Step, Task, disagreement, ours, plain
from reweigh.core.jvp import ENGINES
from reweigh.core.rerun import scoped
from reweigh.errors import ModelError
from reweigh.memory import keep_freed_memory
from reweigh.models import MODELS

SHAPES = {"resnet32": (3, 32, 32), "mlp": (784,), "transformer": (64, 128)}
STEPS = {"resnet32": 1, "mlp": 5, "transformer": 1}  # at least, in one measurement: a step of the small one is short
GOALS = [
    ("forward", "virtual", "all"),
    ("forward", "real", "all"),
    ("difference", "real", "all"),
    ("forward", "real", "last-block"),
    ("forward", "real", "last-layer"),
]
SCOPES = ["all", "last-block", "last-layer"]
ALL = list(product([engine for engine in ENGINES if engine != "auto"], ["virtual", "real"], SCOPES))


class Transformer(nn.Module):
    """Four encoder layers on 64 tokens of width 128, and a linear layer on the mean token; no dropout."""

    def __init__(self, shape: tuple[int, ...], num_classes: int):
        super().__init__()
        tokens, width = shape
        self.place = nn.Parameter(0.02 * torch.randn(tokens, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(width, num_classes)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.head(self.blocks(inputs + self.place).mean(1))


BUILDERS = {**MODELS, "transformer": Transformer}

console = Console(markup=False, highlight=False, width=120)


class Case(NamedTuple):
    """A configuration; ``engine`` may also be ``"plain"`` or a peer."""

    model: str
    engine: str
    lookahead: str = "virtual"
    scope: str = "all"
    every: int = 1

    @property
    def plain(self) -> "Case":
        """What it is compared with."""
        return Case(self.model, "plain", every=self.every)


def cases(model: str, peers: list[str], quick: bool, learning: list[int]) -> Iterator[Case]:
    """What is measured on ``model``; ``quick`` leaves out the configurations that have no goal."""
    scopes = list(_scopes(model))
    for every in learning:
        yield Case(model, "plain", every=every)
        for engine, lookahead, scope in GOALS[:1] if every == 0 else GOALS if quick else ALL:
            if scope in scopes:
                yield Case(model, engine, lookahead, scope, every)
    if 1 in learning:
        yield from (Case(model, name, PEERS[name].lookahead) for name in peers)


def _scopes(name: str) -> Iterator[str]:
    """The scopes that a model has; says which it lacks."""
    model = BUILDERS[name](SHAPES[name], CLASSES)
    for scope in SCOPES:
        try:
            scoped(model, SGD(model.parameters()), scope)
        except ModelError as error:
            console.print(f"{name}, {scope} is left out: {error}")
        else:
            yield scope


def prepare(case: Case) -> Step:
    """Model, data and optimizers of ``case``; returns its training step."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    shape = SHAPES[case.model]
    model = BUILDERS[case.model](shape, CLASSES)
    optimizer = SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=5e-4)
    if case.engine in ENGINES:
        options = {"engine": case.engine, "lookahead": case.lookahead, "scope": case.scope, "every": case.every or 1}
        task = Task(model, optimizer, (100, *shape), **options)
        if case.every == 0:
            task.reweighter.freeze()
        return ours(task)
    start = plain if case.engine == "plain" else PEERS[case.engine].prepare
    return start(Task(model, optimizer, (100, *shape)))


def agreeing_peers(pool: ProcessPoolExecutor) -> Iterator[str]:
    """The peers that are installed and compute the meta-gradient that we do; says what is wrong with the others."""
    for name, peer in PEERS.items():
        try:
            distance = pool.submit(disagreement, name).result()
        except Exception as error:  # absent or broken in any way: the others are measured all the same
            console.print(f"{name} is left out: {type(error).__name__}: {error}")
            continue
        agrees = distance <= peer.tolerance
        console.print(f"{name}: meta-gradient within {distance:.1e} of ours{'' if agrees else ', so it is left out'}")
        if agrees:
            yield name


def memory_of(pool: ProcessPoolExecutor, wanted: list[Case]) -> dict[Case, float]:
    """Peak memory of each case, in MB; a peer that cannot differentiate a model is left out."""
    found = {}
    for case in track(wanted, "memory", console=console):
        try:
            found[case] = pool.submit(_peak, case).result()
        except RuntimeError as error:
            if case.engine not in PEERS:
                raise
            console.print(f"{case.engine} is left out on {case.model}: {error}")
    return found


def _peak(case: Case) -> float:
    step = prepare(case)
    idle = getrusage(RUSAGE_SELF).ru_maxrss
    for _ in range(2 * case.every + 1):  # three of them learn
        step()
    return (getrusage(RUSAGE_SELF).ru_maxrss - idle) / 2**10


def seconds_of(wanted: list[Case], rounds: int) -> dict[Case, float]:
    """Median process time of a step of each case."""
    keep_freed_memory()
    steps = {case: prepare(case) for case in wanted}
    times: dict[Case, list[float]] = {case: [] for case in wanted}
    for step in steps.values():
        step()
    for number in track(range(rounds), "time", console=console):
        for case in random.Random(number).sample(wanted, len(wanted)):
            times[case].append(_seconds(steps[case], max(case.every, STEPS[case.model])))
    return {case: median(taken) for case, taken in times.items()}


def _seconds(step: Step, repeats: int) -> float:
    gc.collect()  # what one case leaves behind is not to be cleared away in the time of another
    start = time.process_time()
    for _ in range(repeats):
        step()
    return (time.process_time() - start) / repeats


def report(seconds: dict[Case, float], memory: dict[Case, float]) -> list[dict[str, object]]:
    """Print the table, and return its rows but for the plain steps."""
    table = Table(*Case._fields, "ms a step", "ratio", "MB", "memory ratio", box=MARKDOWN)
    rows = []
    for case, taken in seconds.items():
        ratio, memory_ratio = taken / seconds[case.plain], memory[case] / memory[case.plain]
        figures = f"{1000 * taken:.1f}", f"{ratio:.2f}", f"{memory[case]:.0f}", f"{memory_ratio:.2f}"
        table.add_row(*map(str, case), *figures)
        if case.engine != "plain":
            rows.append({**case._asdict(), "ratio": ratio, "memory_ratio": memory_ratio})
    console.print(table)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(SHAPES), help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=9, help="default: %(default)s")
    parser.add_argument("--quick", action="store_true", help="only the rows that have a goal, and the peers")
    parser.add_argument("--every", default="0,1,10", help="learn in every n-th step; default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="PATH")
    options = parser.parse_args()
    models = options.models.split(",")
    if unknown := set(models) - set(SHAPES):
        parser.error(f"--models: no {', '.join(unknown)}; there are: {', '.join(SHAPES)}")
    # one process a call, and all before this one grows: Linux counts what a parent held into the peak of its child
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        peers = list(agreeing_peers(pool))
        learning = [int(every) for every in options.every.split(",")]
        memory = memory_of(pool, [case for model in models for case in cases(model, peers, options.quick, learning)])
    rows = report(seconds_of(list(memory), options.rounds), memory)
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

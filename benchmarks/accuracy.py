"""What benchmarks of accuracy share: run methods x biases x seeds by a recipe, and say which bars are reached."""

import argparse
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from reweigh.compare.carry_out import Row, carry_out, to_json
from reweigh.compare.grid import plan
from reweigh.files import write_whole
from reweigh.memory import keep_freed_memory
from reweigh.training.progress import Series


class Bar(NamedTuple):
    """``method`` should be at least ``margin`` points above ``rival``: test accuracy, last epoch, mean over seeds."""

    bias: str
    method: str
    rival: str
    margin: float


Overrides = Callable[[str], list[str]]


def arguments(about: str, biases: Sequence[str], methods: Sequence[str]) -> argparse.Namespace:
    """The command line of such a benchmark."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data files")
    parser.add_argument("--biases", default=",".join(biases), help="with commas between")
    parser.add_argument("--methods", default=",".join(methods), help="with commas between")
    parser.add_argument("--seeds", type=int, default=3, help="how many, from 0")
    parser.add_argument("--workers", type=int, default=1, help="runs at once, each in a process of one thread")
    parser.add_argument("--out", type=Path, help="folder of the runs; what is finished there is not run again")
    parser.add_argument("--json", type=Path, help="write a row for each run there")
    return parser.parse_args()


def run(recipe: str, given: argparse.Namespace, out: Path, overrides: Overrides) -> list[Row]:
    """All runs of a benchmark; prints as they end.

    Args:
        overrides: of the recipe, by bias.
    """
    import sys

    keep_freed_memory()
    biases, methods = given.biases.split(","), given.methods.split(",")
    planned = {}
    for bias in biases:
        changes = [f"data.root={given.data.resolve()}", "train.num_threads=1", *overrides(bias)]
        planned |= plan(recipe, changes, methods, [bias], given.seeds)
    rows = carry_out(planned, out, given.workers, resume=True, series=Series(sys.stderr))
    if given.json:
        write_whole(given.json, to_json(rows, recipe=recipe))
    return rows


def table(rows: Sequence[Row]) -> str:
    """Methods by biases, in Markdown: mean and spread of the last epoch, the best epoch in brackets."""
    biases = list(dict.fromkeys(row.bias for row in rows))
    lines = ["| | " + " | ".join(biases) + " |", "|---" * (len(biases) + 1) + "|"]
    for method in dict.fromkeys(row.method for row in rows):
        cells = [cell([row for row in rows if row.bias == bias and row.method == method]) for bias in biases]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(rows: Sequence[Row]) -> str:
    """One cell: 86.1 ± 0.3 (86.9), or why there is none."""
    last = [row.last for row in rows if row.last is not None]
    best = [row.best for row in rows if row.best is not None]
    if len(last) < len(rows) or not last:
        return ", ".join(sorted({row.status for row in rows}))
    spread = f" ± {statistics.stdev(last):.1f}" if len(last) > 1 else ""
    return f"{statistics.mean(last):.1f}{spread} ({statistics.mean(best):.1f})"


def check_bars(rows: Sequence[Row], bars: Sequence[Bar]) -> int:
    """Print each bar of which both sides were run; returns how many are missed."""
    means: dict[tuple[str, str], float] = {}
    for bias, method in {(row.bias, row.method) for row in rows}:
        last = [row.last for row in rows if (row.bias, row.method) == (bias, method) and row.last is not None]
        if last:
            means[bias, method] = statistics.mean(last)
    missed = 0
    for bias, method, rival, margin in bars:
        if (bias, method) in means and (bias, rival) in means:
            lead = means[bias, method] - means[bias, rival]
            missed += lead < margin
            verdict = "ok" if lead >= margin else "MISSED"
            print(f"{bias:28} {method:12} {lead:+6.2f} points to {rival:8} (bar {margin:+.1f})  {verdict}")
    return missed

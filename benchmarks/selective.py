"""Abstaining under a long tail, SelectiveNet with and without CMW-Net: python benchmarks/selective.py --data FOLDER

FOLDER holds fashion-mnist (``reweigh data get fashion-mnist --root FOLDER``). Setting and choices are those of the
recipe ``fashion-mnist-selective``. One model a run; its scores rank the test samples, and that gives the error at every
coverage. Prints the errors of the last epoch, ranked by the largest probability, as the recipe does, and once more by
the selection head of SelectiveNet; and whether the bar is reached: ``selectivenet+cmw-net`` at or below
``selectivenet`` at five of the seven coverages, mean over seeds. The exit code is 1 if it is missed with the recipe's
ranking. Finished runs are kept (``--out``), so an interrupted call goes on where it was. ``--quick`` trains for 2
epochs, to see that all works.
"""

import csv
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from accuracy import arguments, run
from reweigh.compare.carry_out import Row
from reweigh.selective import LEVELS, area, error_at, risk_coverage
from reweigh.training import Run

BIASES = ["long-tail-50"]
METHODS = ["softmax-response", "selectivenet", "selectivenet+cmw-net"]
METHOD, RIVAL, BAR = "selectivenet+cmw-net", "selectivenet", 5
BOTH = ['method.score="selection"']  # test.csv then has the score of the selection head beside the probability
QUICK = ["train.epochs=2", "train.warmup_epochs=1"]

Errors = list[float]  # in percent at each of LEVELS, then the area under the curve


def by(column: str) -> Callable[[Row], Errors]:
    """The errors of a run whose test samples are ranked by a column of test.csv."""

    def errors(row: Row) -> Errors:
        with open(Run(Path(row.run)).test, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        scores = torch.tensor([float(cells[column]) for cells in rows], dtype=torch.float64)
        curve = risk_coverage(scores, torch.tensor([cells["label"] != cells["predicted"] for cells in rows]))
        return [100 * value for value in (*(error_at(curve, level / 100) for level in LEVELS), area(curve))]

    return errors


def means(rows: Sequence[Row], errors: Callable[[Row], Errors]) -> dict[tuple[str, str], Errors]:
    """By bias and method, over the seeds; those that are not finished are left out."""
    found = {}
    for key in dict.fromkeys((row.bias, row.method) for row in rows):
        done = [errors(row) for row in rows if (row.bias, row.method) == key and row.last is not None]
        if done:
            found[key] = [statistics.mean(values) for values in zip(*done, strict=True)]
    return found


def table(found: dict[tuple[str, str], Errors]) -> str:
    """A line for each bias and method, in Markdown."""
    lines = ["| | | " + " | ".join(f"{level} %" for level in LEVELS) + " | area |", "|---" * (len(LEVELS) + 3) + "|"]
    lines += [
        f"| {bias} | {method} | " + " | ".join(f"{value:.2f}" for value in errors) + " |"
        for (bias, method), errors in found.items()
    ]
    return "\n".join(lines)


def check_bar(found: dict[tuple[str, str], Errors]) -> int:
    """Say at how many coverages the method is at or below its rival, for each bias; returns how often it misses."""
    missed = 0
    for bias in dict.fromkeys(bias for bias, _ in found):
        if (bias, METHOD) in found and (bias, RIVAL) in found:
            pairs = list(zip(found[bias, METHOD], found[bias, RIVAL], strict=True))[: len(LEVELS)]
            count = sum(ours <= theirs for ours, theirs in pairs)
            missed += count < BAR
            verdict = "ok" if count >= BAR else "MISSED"
            print(f"{bias}: {METHOD} at or below {RIVAL} at {count} of {len(LEVELS)} coverages (bar {BAR})  {verdict}")
    return missed


def main() -> int:
    """Run, and say what came out."""
    quick = "--quick" in sys.argv
    if quick:
        sys.argv.remove("--quick")
    given = arguments(__doc__ or "", BIASES, METHODS)
    out = given.out or Path("runs", "selective-benchmark" + ("-quick" if quick else ""))
    rows = run("fashion-mnist-selective", given, out, lambda bias: [*BOTH, *(QUICK if quick else [])])
    missed = []
    for column, words in (("probability", "the largest probability"), ("score", "the selection head, if there is one")):
        found = means(rows, by(column))
        print(f"\nError in percent by coverage, test samples ranked by {words}:\n\n{table(found)}\n")
        missed.append(check_bar(found))
    for method in dict.fromkeys(row.method for row in rows):
        seconds = [row.seconds for row in rows if row.method == method and row.last is not None]
        if seconds:
            print(f"{method:24} {statistics.mean(seconds):.0f} seconds a run")
    return 1 if missed[0] or any(row.last is None for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

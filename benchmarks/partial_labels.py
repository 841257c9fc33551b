"""Candidate labels, PRODEN alone and with CMW-Net: python benchmarks/partial_labels.py --data FOLDER

FOLDER holds fashion-mnist, or mnist (``reweigh data get fashion-mnist --root FOLDER``). Setting and choices are those
of the recipe ``fashion-mnist-partial``, also for MNIST (``--dataset mnist``). Prints a table, beside it what the paper
reports, and which bars are reached: with CMW-Net above PRODEN alone at every q, and PRODEN alone within a point of the
paper's. The exit code is 1 if one is missed. Finished runs are kept (``--out``), so an interrupted call goes on where
it was. ``--quick`` takes 2,000 images and 4 epochs, to see that all works. ``--falling`` gives PRODEN alone the
learning rate of the other, which falls in the last epochs, in place of the constant one of its authors, to see what the
second stage is worth beyond that.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from accuracy import Bar, arguments, check_bars, run, table
from reweigh.compare.carry_out import Row

BIASES = ["candidates-0.1", "candidates-0.3", "candidates-0.5", "candidates-0.7"]
METHODS = ["proden", "proden+cmw-net"]
BARS = [Bar(bias, "proden+cmw-net", "proden", 0.0) for bias in BIASES]
NEAR = 1.0  # points
QUICK = ["data.train_size=2000", "train.epochs=4", "method.identify_epochs=2"]
FALLING = ["compare.proden.optimizer.schedule={name = 'step', milestones = [20, 22], factor = 0.1}"]
# accuracies in percent, supplement of the paper, for the biases above
PAPER = {
    "fashion-mnist": {"proden": [89.51, 88.79, 88.32, 87.21], "proden+cmw-net": [90.47, 90.07, 89.38, 87.84]},
    "mnist": {"proden": [98.59, 98.07, 98.42, 98.09], "proden+cmw-net": [98.99, 98.83, 98.57, 98.33]},
}


def check_paper(rows: Sequence[Row], dataset: str) -> int:
    """Print each mean beside the paper's; returns how many of PRODEN alone are further away than allowed."""
    missed = 0
    for method, published in PAPER[dataset].items():
        for bias, theirs in zip(BIASES, published, strict=True):
            last = [row.last for row in rows if (row.bias, row.method) == (bias, method) and row.last is not None]
            if not last:
                continue
            ours = statistics.mean(last)
            verdict = ""
            if method == "proden":
                missed += abs(ours - theirs) > NEAR
                verdict = "ok" if abs(ours - theirs) <= NEAR else f"MISSED (within {NEAR:g})"
            print(f"{bias:16} {method:16} {ours:6.2f}, the paper {theirs:6.2f}, {ours - theirs:+5.2f}  {verdict}")
    return missed


def main() -> int:
    """Run, and say what came out."""
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)  # --data is no --dataset
    own.add_argument("--dataset", choices=PAPER, default="fashion-mnist")
    own.add_argument("--quick", action="store_true")
    own.add_argument("--falling", action="store_true")
    chosen, others = own.parse_known_args()
    sys.argv = [sys.argv[0], *others]
    given = arguments(__doc__ or "", BIASES, METHODS)
    marks = ("-quick" if chosen.quick else "") + ("-falling" if chosen.falling else "")
    changes = [f"data.name={chosen.dataset}", *(QUICK if chosen.quick else []), *(FALLING if chosen.falling else [])]
    out = given.out or Path("runs", f"{chosen.dataset}-partial-benchmark{marks}")
    rows = run("fashion-mnist-partial", given, out, lambda bias: changes)
    print(table(rows))
    missed = check_paper(rows, chosen.dataset) + check_bars(rows, BARS)
    return 1 if missed or any(row.last is None for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

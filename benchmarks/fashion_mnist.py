"""CMW-Net and its rivals on Fashion-MNIST: python benchmarks/fashion_mnist.py --data FOLDER

FOLDER holds fashion-mnist (``reweigh data get fashion-mnist --root FOLDER``). Setting and choices are those of the
recipe ``fashion-mnist``. Prints a table, which bars are reached, and whether the learned curves look like the paper's;
the exit code is 1 if one is missed. Finished runs are kept (``--out``), so an interrupted call goes on where it was.
"""

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from accuracy import Bar, arguments, check_bars, run, table
from reweigh.compare.carry_out import Row
from reweigh.training import Run
from reweigh.weighting import load_weighting

BIASES = [
    "symmetric-0.4",
    "asymmetric-0.4",
    "asymmetric-0.6",
    "long-tail-100",
    "long-tail-200",
    "long-tail-50+symmetric-0.3",
    "clean",
]
METHODS = [
    *("erm", "mw-net", "cmw-net", "cmw-net-sl"),
    *("focal", "class-balanced", "ldam", "ldam-drw", "ldam+cmw-net"),
    *("gce", "forward", "l2rw", "elr", "co-teaching"),
]
BARS = [
    Bar("asymmetric-0.4", "cmw-net", "erm", 6),
    Bar("asymmetric-0.4", "cmw-net", "mw-net", 4),
    Bar("asymmetric-0.4", "cmw-net-sl", "erm", 9),
    Bar("asymmetric-0.6", "cmw-net", "erm", 12),
    Bar("asymmetric-0.6", "cmw-net", "mw-net", 10),
    Bar("asymmetric-0.6", "cmw-net-sl", "erm", 13),
    Bar("symmetric-0.4", "cmw-net-sl", "erm", 12),
    Bar("long-tail-200", "cmw-net", "erm", 2),
    Bar("long-tail-200", "cmw-net", "mw-net", 2),
    Bar("long-tail-50+symmetric-0.3", "cmw-net-sl", "erm", 7),
    Bar("clean", "cmw-net", "erm", -0.5),
    Bar("clean", "cmw-net-sl", "erm", -0.5),
]
WRONG = {"symmetric-0.4": 0.36, "asymmetric-0.4": 0.16, "asymmetric-0.6": 0.24, "long-tail-50+symmetric-0.3": 0.27}


def overrides(bias: str) -> list[str]:
    """What the bias decides: the paper learns in every step under a long tail, and co-teaching is told the noise."""
    told = [f"compare.co-teaching.method.forget_rate={WRONG.get(bias, 0.0)}"]
    return [*told, "method.every=1"] if "long-tail" in bias else told


def curves(rows: Sequence[Row]) -> torch.Tensor:
    """The weight that each family gives to losses from 0 to twice that of a guess, mean over runs: (families, 101)."""
    nets = [load_weighting(Run(Path(row.run)).weighting)[0] for row in rows]
    losses = torch.linspace(0, 2 * torch.tensor(10.0).log().item(), 101)
    with torch.no_grad():
        each = [[net(losses, torch.full((101,), family)) for family in range(net.num_families)] for net in nets]
    return torch.stack([torch.stack(families) for families in each]).mean(0)


def check_curves(rows: Sequence[Row]) -> int:
    """Say whether the curves of cmw-net have the paper's shape under each bias; returns how many have not.

    Asymmetric noise: the family of the largest classes decreases in the loss, that of the smallest increases. Symmetric
    noise: all decrease. Long tail: the rarest family lies above the largest.
    """
    wrong = 0
    for bias in dict.fromkeys(row.bias for row in rows):
        found = [row for row in rows if row.bias == bias and row.method == "cmw-net" and row.last is not None]
        if not found or bias == "clean":
            continue
        shape = curves(found)
        rise = shape[:, -1] - shape[:, 0]
        if "long-tail" in bias:
            right, words = bool((shape[0] > shape[-1]).all()), "the rarest family lies above the largest"
        elif bias.startswith("asymmetric"):
            right, words = bool(rise[0] > 0 > rise[-1]), "the smallest classes increase, the largest decrease"
        else:
            right, words = bool((rise < 0).all()), "all decrease"
        wrong += not right
        ends = ", ".join(f"{float(line[0]):.2f} to {float(line[-1]):.2f}" for line in shape)
        print(f"{bias:28} curves, rarest family first: {ends}; {words}: {'ok' if right else 'NO'}")
    return wrong


def main() -> int:
    """Run, and say what came out."""
    given = arguments(__doc__ or "", BIASES, METHODS)
    rows = run("fashion-mnist", given, given.out or Path("runs", "fashion-mnist-benchmark"), overrides)
    print(table(rows))
    erm = {row.bias: row.seconds for row in rows if row.method == "erm"}
    for method in dict.fromkeys(row.method for row in rows):
        ratios = [row.seconds / erm[row.bias] for row in rows if row.method == method and erm.get(row.bias)]
        if ratios:
            print(f"{method:24} training time {statistics.mean(ratios):.2f} times that of erm")
    missed = check_bars(rows, BARS) + check_curves(rows)
    return 1 if missed or any(row.last is None for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

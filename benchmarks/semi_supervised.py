"""Few labels, FixMatch and its rivals: python benchmarks/semi_supervised.py --data FOLDER

FOLDER holds fashion-mnist (``reweigh data get fashion-mnist --root FOLDER``). Setting and choices are those of the
recipe ``fashion-mnist-semi``; all methods take the same steps, also ``labeled-only``, which is plain training on the
labeled samples. Prints a table, and of the last epoch how good pseudo-labels were and what weight right and wrong ones
had. There is no bar. Finished runs are kept (``--out``), so an interrupted call goes on where it was. ``--quick`` takes
2,000 images and 2 epochs, to see that all works.
"""

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from accuracy import arguments, run, table
from reweigh.compare.carry_out import Row
from reweigh.training import Run

BIASES = ["labeled-40", "labeled-250"]
METHODS = [
    *("labeled-only", "pseudo-label", "pi-model", "mean-teacher", "mixmatch", "uda"),
    *("fixmatch", "fixmatch+cmw-net"),
]
QUICK = ["data.train_size=2000", "train.epochs=2", "train.warmup_epochs=1"]


class Pseudo(NamedTuple):
    """Of the pseudo-labels of an epoch: the share that is right, and the mean weights of right and of wrong ones."""

    right: float
    right_weight: float
    wrong_weight: float


def pseudo_labels(row: Row) -> Pseudo | None:
    """Of the last epoch of a run; None if its method has no pseudo-labels that it weighs."""
    line = json.loads(Run(Path(row.run)).metrics.read_text(encoding="utf-8").splitlines()[-1])
    if "train_pseudo_right" not in line:
        return None
    right, mass, weight = (line[f"train_{name}"] for name in ("pseudo_right", "pseudo_right_weight", "weight"))
    return Pseudo(right, mass / max(right, 1e-9), (weight - mass) / max(1 - right, 1e-9))


def weights_table(rows: Sequence[Row]) -> str:
    """A line for each method and number of labels, in Markdown: means over seeds."""
    lines = ["| | labels | right pseudo-labels, % | weight of right ones | of wrong ones |", "|---" * 5 + "|"]
    for method, bias in dict.fromkeys((row.method, row.bias) for row in rows):
        done = [row for row in rows if (row.method, row.bias) == (method, bias) and row.last is not None]
        found = [each for each in map(pseudo_labels, done) if each is not None]
        if found:
            right, high, low = (statistics.mean(values) for values in zip(*found, strict=True))
            lines.append(f"| {method} | {bias} | {100 * right:.1f} | {high:.3f} | {low:.3f} |")
    return "\n".join(lines)


def main() -> int:
    """Run, and say what came out."""
    quick = "--quick" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--quick"]
    given = arguments(__doc__ or "", BIASES, METHODS)
    out = given.out or Path("runs", "semi-supervised-benchmark" + ("-quick" if quick else ""))
    rows = run("fashion-mnist-semi", given, out, lambda bias: QUICK if quick else [])
    print(table(rows))
    print()
    print(weights_table(rows))
    return 1 if any(row.last is None for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

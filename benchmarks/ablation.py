"""The default without one of its parts at a time: python benchmarks/ablation.py --data FOLDER --noise FOLDER

Cells, folders and what is measured are those of ``matrix.py``. A part that has an option is switched off by it, any
other by changing a constant. Prints accuracy and average precision of the ranking of wrong labels, parts as rows and
cells as columns, and the mean change. Results are appended to ``--out``, so several calls add up.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from matrix import DEFAULT, Row, append, arguments, measure, read
from reweigh.issues import stock
from reweigh.methods import two_looks
from reweigh.methods.parts import first_look, second_look

CELLS = "c:clean,c:aggregate,c:random1,c:fd1,c:fd2,c:sym40,c:way40,c:lt50sym30,f:sym40,f:way60,f:lt100,f:lt50sym30"


def evenly_confused(predictions: Tensor, given: Tensor) -> Tensor:
    """The confident joint, its wrong labels spread in no particular direction."""
    joint = CONFIDENT(predictions, given)
    wrong = 1 - float(joint.trace() / joint.sum())
    even = torch.full_like(joint, wrong / max(1, len(joint) - 1)).fill_diagonal_(1 - wrong)
    return even * joint.sum(1, keepdim=True)


def unseen_only(look: first_look.FirstLook) -> first_look.FirstPredictions:
    """What networks predict that have not seen the sample, without its memory where there is such a network."""
    found = PREDICTIONS(look)
    best = found.best.clone()
    best[found.known] = found.unseen[found.known]
    return found._replace(best=best)


CONFIDENT, PREDICTIONS = stock.confident_joint, first_look.FirstLook.predictions
PARTS: dict[str, tuple[str, Callable[[], AbstractContextManager[object]]]] = {
    "all of it": (DEFAULT, nullcontext),
    "the judge: train to the end": (DEFAULT, lambda: patch.object(first_look, "CERTAIN", float("inf"))),
    "memory: held-out predictions only": (
        DEFAULT,
        lambda: patch.object(first_look.FirstLook, "predictions", unseen_only),
    ),
    "prior correction": (f"{DEFAULT}:prior=false", nullcontext),
    "confusion: no direction": (DEFAULT, lambda: patch.object(stock, "confident_joint", evenly_confused)),
    "the second look": (DEFAULT, lambda: patch.multiple(two_looks, FIRST=1.9, SECOND=0.0)),
    "learned weights: Bayes' rule": (f"{DEFAULT}:meta_lr=0", nullcontext),
    "families: one curve": (DEFAULT, lambda: patch.object(second_look, "FAMILIES", 1)),
    "moving targets": (DEFAULT, lambda: patch.object(second_look, "REFRESH", ())),
    "mixup": (f"{DEFAULT}:mixup=0", nullcontext),
}


def table(rows: list[Row], key: str, digits: int) -> str:
    """Means over seeds, and how much the mean over all cells changes without the part."""
    cells = list(dict.fromkeys(row["cell"] for row in rows if key in row))
    lines = ["| without | " + " | ".join(cells) + " | mean change |", "|---" * (len(cells) + 2) + "|"]
    whole: list[float] = []
    for part in PARTS:
        means = [np.mean([r[key] for r in rows if (r["cell"], r["part"]) == (cell, part)] or np.nan) for cell in cells]
        whole = whole or [float(value) for value in means]
        shown = [f"{value:.{digits}f}" for value in means]
        lines.append(f"| {part} | {' | '.join(shown)} | {np.nanmean(np.subtract(means, whole)):+.{digits + 1}f} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, and print the tables."""
    options = arguments(__doc__, "ablation.jsonl", CELLS).parse_args()
    for seed in map(int, options.seeds.split(",")):
        for cell in options.cells.split(","):
            for part, (method, without) in PARTS.items():
                done = {(row["cell"], row["part"], row["seed"]) for row in read(options.out)}
                if (cell, part, seed) not in done:
                    with without():
                        row = measure(cell, method, seed, options.data, options.noise)
                    append(options.out, row | {"part": part})
    rows = read(options.out)
    print(table(rows, "accuracy", 1) + "\n\n" + table(rows, "ap", 3))


if __name__ == "__main__":
    main()

"""How many modules of reweigh one has to enter to follow a command: those in which a function is called.

python benchmarks/modules_entered.py            # the number for each walk, each in a process of its own
python benchmarks/modules_entered.py data       # the modules of one walk, in order

The walks: ``train demo`` (demo), the estimator with its defaults (fit), ``Reweighter.step`` (step), ``train --data
iris.csv`` (data), ``train --reviewed`` after one decision about that run (reviewed). What runs while a module is
imported does not count.
"""

import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any


def entered(walk: Callable[[], object]) -> list[str]:
    """The modules of reweigh in which a walk calls a function, in order."""
    found: dict[str, None] = {}
    seen: set[Any] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and frame.f_code not in seen and name.startswith("reweigh") and not importing(frame):
            seen.add(frame.f_code)
            found[name] = None

    sys.setprofile(watch)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return list(found)


def importing(frame: FrameType | None) -> bool:
    """Whether this runs because a module of reweigh is imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__", "").startswith("reweigh"):
            return True
        frame = frame.f_back
    return False


def command(*words: str) -> None:
    """Run ``reweigh`` with these words."""
    from reweigh.cli.app import app

    app(list(words), standalone_mode=False)


def demo() -> None:
    command("train", "demo", "train.epochs=6", "train.warmup_epochs=1", "--out", "runs/demo")


def fit() -> None:
    from sklearn.datasets import load_iris

    from reweigh import RobustClassifier

    RobustClassifier(random_state=0).fit(*load_iris(return_X_y=True))


def step() -> None:
    import torch

    from reweigh import Reweighter

    model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    inputs, labels = torch.randn(600, 20), torch.randint(3, (600,))
    Reweighter(model, optimizer, labels).step(inputs[:50], labels[:50], inputs[50:80], labels[50:80])


def data() -> None:
    command("train", "--data", "iris.csv", "--label", "kind", "--out", "runs/iris")


def reviewed() -> None:
    command("train", "--reviewed", "runs/iris", "--out", "runs/again")


WALKS: dict[str, Callable[[], None]] = {"demo": demo, "fit": fit, "step": step, "data": data, "reviewed": reviewed}


def prepare(walk: str) -> None:
    """Write the table, and what else a walk needs, into the current folder."""
    from sklearn.datasets import load_iris

    iris: Any = load_iris(as_frame=True)
    kinds = [iris.target_names[number] for number in iris.target]
    iris.data.assign(kind=kinds).to_csv("iris.csv", index=False)
    if walk == "reviewed":
        from reweigh.fit.decisions import Decision, Decisions

        data()
        Decisions(Path("runs/iris/decisions.jsonl")).add(Decision(7, "setosa", "setosa", "somebody"))


def main() -> None:
    if len(sys.argv) == 1:
        for name in WALKS:
            done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)
            print(f"{name:10}{len(done.stdout.split())}", flush=True)
        return
    walk, out = sys.argv[1], sys.stdout
    logging.disable()
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as sys.stdout:
        os.chdir(folder)
        prepare(walk)
        found = entered(WALKS[walk])
        os.chdir("/")
    print(*found, sep="\n", file=out)


if __name__ == "__main__":
    main()

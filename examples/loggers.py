"""Each epoch as a line of a CSV file, and in TensorBoard if it is installed: python examples/loggers.py

A callback is a function of the numbers of an epoch, so any logger is a few lines: wandb, MLflow, your own.
"""

import csv
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.datasets import load_wine

from reweigh import RobustClassifier


def csv_logger(path: Path) -> Callable[[dict[str, Any]], None]:
    """Writes a line after every epoch; the columns are those of the first one."""
    columns: list[str] = []

    def log(numbers: dict[str, Any]) -> None:
        first = not columns
        columns.extend(numbers if first else ())
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            if first:
                writer.writeheader()
            writer.writerow(numbers)

    return log


def tensorboard_logger(folder: Path) -> Callable[[dict[str, Any]], None]:
    """Shows every number as a curve: tensorboard --logdir FOLDER"""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder))

    def log(numbers: dict[str, Any]) -> None:
        for name, value in numbers.items():
            if isinstance(value, int | float):
                writer.add_scalar(name, value, int(numbers["epoch"]))
        writer.flush()

    return log


def main(folder: Path) -> Path:
    callbacks = [csv_logger(folder / "epochs.csv")]
    try:
        callbacks.append(tensorboard_logger(folder / "tensorboard"))
    except ImportError:
        print("TensorBoard is not installed; the CSV file has the same numbers")
    X, y = load_wine(return_X_y=True)
    RobustClassifier("cmw-net", epochs=5, random_state=0, callbacks=callbacks).fit(X, y)
    return folder / "epochs.csv"


if __name__ == "__main__":
    print(main(Path(tempfile.mkdtemp(prefix="reweigh-"))).read_text())

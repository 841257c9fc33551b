"""Real runs of two epochs, and their accounts."""

import csv
import json
import shutil
from pathlib import Path

import pytest
import torch

from reweigh.fit.run_folder import begin
from reweigh.recipes.read import check, for_method, read
from reweigh.report.page import write_report
from reweigh.runs.read import read_account

HOSTILE = [
    "<script>alert(1)</script>",
    "\"&'",
    "</svg><img src=x onerror=alert(2)>",
    "$a_b$",
    "猫",
    "no text \udcff",
    *"6789",
]


def train(folder: Path, method: str, *changes: str) -> Path:
    """A run of two epochs of the demo, the first without reweighting."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    short = ["train.epochs=2", "train.warmup_epochs=1", "model.hidden=[32]"]
    begin(check(for_method(read("demo", [*short, *changes]), method)), folder)
    torch.set_num_threads(threads)
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> dict[str, Path]:
    """Run folders by method; not to be changed."""
    folder = tmp_path_factory.mktemp("runs")
    return {method: train(folder / method, method) for method in ("cmw-net", "erm")}


@pytest.fixture
def run(trained, tmp_path) -> Path:
    """A run folder that may be changed."""
    path = Path(shutil.copytree(trained["cmw-net"], tmp_path / "run"))
    (path / "SHA256SUMS").unlink()
    return path


@pytest.fixture(scope="session")
def hostile(trained, tmp_path_factory) -> Path:
    """A run whose classes have names that should not be taken for HTML, nor for a formula."""
    path = Path(shutil.copytree(trained["cmw-net"], tmp_path_factory.mktemp("hostile") / "<i>run"))
    (path / "SHA256SUMS").unlink()
    classes = json.loads((path / "classes.json").read_text())
    (path / "classes.json").write_text(json.dumps({**classes, "names": HOSTILE}))
    with open(path / "samples.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(path / "samples.csv", "w", newline="", errors="surrogateescape") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for row in rows:
            writer.writerow(row | {key: HOSTILE[int(row[key])] for key in row if key.endswith("_label") and row[key]})
    return path


@pytest.fixture(scope="session")
def page(hostile, trained, tmp_path_factory) -> Path:
    """The page of two runs, one of them with hostile names."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report([hostile, trained["erm"]], path)
    return path


@pytest.fixture(scope="session")
def account(trained):
    """What the cmw-net run tells."""
    return read_account(trained["cmw-net"], "the run")


@pytest.fixture(scope="session")
def partial(tmp_path_factory):
    """What a run on candidate labels tells."""
    path = tmp_path_factory.mktemp("partial") / "run"
    changes = ("data.bias=[]", "data.candidates={name='independent', q=0.3}")
    return read_account(train(path, "proden+cmw-net", *changes), "partial")


@pytest.fixture(scope="session")
def plain(trained):
    """What the erm run tells."""
    return read_account(trained["erm"], "plain")

"""A short run on mislabeled digits, to be reviewed."""

import shutil
from pathlib import Path

import pytest
import torch

from reweigh.fit.run_folder import begin
from reweigh.recipes.read import check, read


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A run folder; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "digits"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    begin(check(read("demo", ["train.epochs=3", "train.warmup_epochs=1", "model.hidden=[32]"])), folder)
    torch.set_num_threads(threads)
    return folder


@pytest.fixture
def run(trained, tmp_path) -> Path:
    """A run folder that may be changed."""
    return Path(shutil.copytree(trained, tmp_path / "run"))

"""The small method that these tests train."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def tiny() -> SimpleNamespace:
    """The names of tiny.py."""
    return SimpleNamespace(**runpy.run_path(str(HERE / "tiny.py")))


@pytest.fixture(autouse=True)
def _one_thread():
    """Bit-identical results need the same number of threads; one is the quickest here."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)

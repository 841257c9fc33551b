"""A review of image files decodes those that it shows."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from reweigh.data.readers import images
from reweigh.fit.run_folder import begin
from reweigh.fit.similar import Similar
from reweigh.recipes.read import check, read
from reweigh.review import of_run
from reweigh.review.session import Session
from reweigh.runs.read import read_account


def queue(session, wanted):
    """Indices of the samples that the wall shows, in order."""
    return [index for group in session.wall(wanted) for index in group["index"]]


@pytest.fixture(params=["RGB", "L"])
def run(request, tmp_path: Path) -> Path:
    generator = np.random.default_rng(0)
    for number in range(60):
        kind = "ab"[number % 2 ^ (number % 10 == 3)]  # every tenth is in the wrong folder
        folder = tmp_path / "photos" / kind
        folder.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 100, (8, 8, 3), dtype=np.uint8) + np.uint8(100 * (number % 2))
        Image.fromarray(pixels).convert(request.param).save(folder / f"{number}.png")
    changes = ["data.name=files", f"data.path={tmp_path / 'photos'}", "data.bias=[]", "model.hidden=[8]"]
    begin(check(read("demo", [*changes, "train.epochs=2", "train.warmup_epochs=1"])), tmp_path / "run")
    return tmp_path / "run"


def test_only_what_is_shown_is_decoded(run, monkeypatch):
    decoded = []
    plain = images.decode
    monkeypatch.setattr(images, "decode", lambda path, *args: decoded.append(path) or plain(path, *args))
    session = Session(of_run(run), "ann")
    subject = session.subject
    assert subject.held_out > 0
    assert queue(session, {"show": "all"})
    assert not decoded
    account, held_out = read_account(run, "run", decoded=True).with_held_out()
    on_demand, in_memory = subject.similar.dataset, account.dataset
    assert on_demand is not None
    assert in_memory is not None
    assert held_out == subject.held_out
    assert torch.equal(on_demand.source_rows, in_memory.source_rows)
    decoded.clear()
    everything = np.ones(len(subject.samples.row), bool)
    for index in (0, len(everything) - 1):  # the last one was held out
        assert torch.equal(on_demand.inputs[torch.tensor([index])], in_memory.inputs[torch.tensor([index])])
        assert Similar(on_demand).of(index, everything) == Similar(in_memory).of(index, everything)
    gray = in_memory.shape[0] == 1
    assert len(decoded) == 2 + 2 * gray * len(everything)  # pixels say what is similar only in gray images

"""One command from data with wrong labels to a corrected copy, which can be continued and never changes the data."""

import csv
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from reweigh.review import Review
from reweigh.runs.copies import destinations

QUICK = ("method.name=erm", "train.epochs=4", "train.looks=2")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in, with a table whose every tenth label is wrong."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    kinds = ["dog" if (row % 2) ^ (row % 10 == 0) else "cat" for row in range(120)]
    lines = [f"{draw.normal(4 * (row % 2), 0.5):.3f},{kind}" for row, kind in enumerate(kinds)]
    Path("table.csv").write_text("\n".join(["size,kind", *lines, ""]))
    return tmp_path


def test_a_table_and_going_on(run, here):
    words = ["fix", "table.csv", "--label", "kind", "--accept-all", *QUICK]
    before = Path("table.csv").read_bytes()
    first = run(*words)
    assert first.exit_code == 0, first.output
    assert "Next: reweigh train --data" in first.output
    assert "Nobody looked at these labels" in first.output
    assert Path("table.csv").read_bytes() == before
    changed = [
        row
        for row, (old, new) in enumerate(
            zip(Path("table.csv").read_text().split(), Path("table-corrected.csv").read_text().split(), strict=True)
        )
        if old != new
    ]
    assert changed == [1 + row for row in range(0, 120, 10)]
    (trained,) = Path("runs").iterdir()
    model = (trained / "model.safetensors").read_bytes()

    again = run(*words)
    assert again.exit_code == 2
    assert "already exists; replace it with --overwrite" in again.output

    again = run(*words, "--overwrite")
    assert again.exit_code == 0, again.output
    assert "has ended already" in again.output
    assert (trained / "model.safetensors").read_bytes() == model

    (trained / "samples.csv").unlink()  # as if interrupted before its end
    (trained / "SHA256SUMS").unlink()
    again = run(*words, "--overwrite")
    assert again.exit_code == 0, again.output
    assert f"Continuing {trained}" in again.output

    other = run(*words, "--overwrite", "train.seed=0", "optimizer.lr=0.5")
    assert other.exit_code == 2
    assert "another recipe; choose another folder with --run" in other.output


def test_photos_by_what_was_decided(run, own, tmp_path, monkeypatch):
    """The corrected folder holds each image where people put it; a file of the same name there is kept."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(own / "photos", "photos")
    (moved, other), left_out = (
        sorted(Path("photos/digit 0").glob("0*.png"))[2:4],
        next(Path("photos/digit 2").iterdir()),
    )
    shutil.copy(other, f"photos/digit 1/{moved.name}")  # a name that both classes have
    new_name = f"digit 1/{moved.stem}-from-digit 0.png"

    def decide(self):
        session = self.session
        index = {session.subject.samples.name[each]: each for each in range(len(session.subject.samples))}
        session.decide(index[f"digit 0/{moved.name}"], 1)
        session.decide(index[f"digit 2/{left_out.name}"], exclude="unusable")
        session.decide(index[f"digit 0/{other.name}"], 0)
        self.stop()

    monkeypatch.setattr(Review, "run", decide)
    words = ["fix", "photos", "--no-browser", *QUICK]
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "Ctrl-C ends the review" in result.output
    old = {str(path.relative_to("photos")): path.read_bytes() for path in Path("photos").rglob("*.png")}
    new = {str(path.relative_to("photos-corrected")): path.read_bytes() for path in Path("photos-corrected").rglob("*")
           if path.is_file()}  # fmt: skip
    del old[f"digit 2/{left_out.name}"]
    old[new_name] = old.pop(f"digit 0/{moved.name}")
    assert new == old
    with open("photos-corrected-moves.csv", newline="") as file:
        moves = {line["name"]: (line["moved_to"], line["new_label"]) for line in csv.DictReader(file)}
    assert moves == {f"digit 0/{moved.name}": (new_name, "digit 1"), f"digit 2/{left_out.name}": ("", "")}

    # what was written before is replaced on request; a folder of the user's is not
    assert run(*words).exit_code == 2
    assert run(*words, "--links", "--overwrite").exit_code == 0
    assert Path("photos-corrected", new_name).resolve() == moved.resolve()
    Path("mine").mkdir()
    refused = run(*words, "--out", "mine", "--overwrite")
    assert "delete it yourself" in refused.output
    refused = run(*words, "--out", "photos/new")
    assert "would write into the data" in refused.output
    assert run("train", "--data", "photos-corrected", "--out", "again", *QUICK).exit_code == 0


def test_where_files_go_in_a_folder_with_a_test_part(tmp_path):
    for name in ("train/a/1.png", "train/b/1.png", "train/b/deep/2.png", "test/a/1.png", "notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = destinations(tmp_path, {os.path.join("b", "1.png"): "a", os.path.join("b", "deep", "2.png"): "a"}, set())
    assert {str(here): str(there) for here, there in found.items()} == {
        "train/a/1.png": "train/a/1.png",
        "train/b/1.png": "train/a/1-from-b.png",
        "train/b/deep/2.png": "train/a/deep/2.png",
        "test/a/1.png": "test/a/1.png",
        "notes.txt": "notes.txt",
    }


def test_nobody_decides_and_no_such_data(run, here, monkeypatch):
    monkeypatch.setattr(Review, "run", lambda self: None)
    result = run("fix", "table.csv", "--label", "kind", "--no-browser", *QUICK)
    assert result.exit_code == 0, result.output
    assert "nothing to write" in result.output
    assert not Path("table-corrected.csv").exists()
    assert "no file or folder 'photoss'" in run("fix", "photoss").output


def test_commands_take_the_latest_run(run, own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "give the folder of a run" in run("issues").output
    for age, name in ((20, "photos-run"), (10, "table-run")):
        copy = shutil.copytree(own / name, tmp_path / "runs" / name)
        then = os.stat(copy / "recipe.toml").st_mtime - age
        os.utime(copy / "recipe.toml", (then, then))
    for verb in (["issues"], ["report"], ["audit", "--n", "0"]):
        found = run(*verb)
        assert found.exit_code == 0, found.output
        assert "table-run, the latest run" in found.output
    found = run("predict", own / "table.csv")
    assert "table-run, the latest run" in found.output
    assert "samples, predicted" in found.output
    assert "give what to predict" in run("predict", "runs/table-run").output


def test_copies_that_cannot_be_written_are_refused_before_training(run, here, monkeypatch):
    """Into the data themselves, or into a folder that is read-only."""
    words = ["fix", "table.csv", "--label", "kind", "--accept-all", *QUICK]
    before = Path("table.csv").read_bytes()
    into = run(*words, "--out", "table.csv", "--overwrite")
    assert into.exit_code == 2, into.output
    assert "table.csv" in into.output
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    closed = run(*words)
    assert closed.exit_code == 2
    assert "read-only; choose another path" in " ".join(closed.output.split())
    assert Path("table.csv").read_bytes() == before
    assert not Path("runs").exists()


def test_a_read_only_data_folder_is_no_obstacle(run, here):
    """Nothing is written beside the data if the copy and the run go elsewhere."""
    Path("data").mkdir()
    shutil.move("table.csv", "data/table.csv")
    os.chmod("data", 0o500)
    known = sorted(Path("data").iterdir())
    words = ["fix", "data/table.csv", "--label", "kind", "--accept-all", "--out", "fixed.csv", "--run", "run", *QUICK]
    result = run(*words)
    os.chmod("data", 0o700)
    assert result.exit_code == 0, result.output
    assert sorted(Path("data").iterdir()) == known
    assert Path("fixed.csv").is_file()


def test_a_folder_of_images_is_never_its_own_copy(run, own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(own / "photos", "photos")
    before = sorted(Path("photos").rglob("*"))
    result = run("fix", "photos", "--accept-all", "--out", "photos", "--overwrite", *QUICK)
    assert result.exit_code == 2, result.output
    assert sorted(Path("photos").rglob("*")) == before

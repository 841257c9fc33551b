"""The user's own model by name, from the current folder: trained, resumed, or refused with a reason."""

import os
import subprocess
import sys

from typer.testing import CliRunner

from reweigh.cli.app import app

MODEL = """
from torch import nn

class Net(nn.Sequential):
    def __init__(self, num_classes, width=4):
        super().__init__(nn.Flatten(), nn.Linear(64, width), nn.ReLU(), nn.Linear(width, num_classes))
"""
RUN = "from reweigh.cli import main; main()"  # as the installed command, which does not look into the current folder
WORDS = ["train", "demo", "train.epochs=2", "train.warmup_epochs=1", "--out", "run"]


def test_a_class_of_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "my_net.py").write_text(MODEL)
    for wanted in ("opt_einsum", "pytz"):  # torch and pandas look for these, which are not installed
        (tmp_path / f"{wanted}.py").write_text("open('ran', 'w')")
    command = [sys.executable, "-P", "-c", RUN, *WORDS, "model.name=my_net:Net", "model.width=6", "--trust-code"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()
    recipe = (tmp_path / "run" / "recipe.toml").read_text()
    assert '[model]\nname = "my_net:Net"\nwidth = 6\n' in recipe  # hidden, the option of the demo's model, is gone

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert CliRunner().invoke(app, ["train", "--resume", "run"]).exit_code == 2  # not even its own run
    assert CliRunner().invoke(app, ["train", "--resume", "run", "--trust-code"]).exit_code == 0
    for changes, message in [
        (["model.name=my_net:Nett"], "has no torch.nn.Module class and no function 'Nett'; it has: Net"),
        (["model.name=my_net:Net", "model.depth=6"], "unexpected keyword argument 'depth'"),
        (["model.name=my_nett:Net"], "cannot import 'my_nett'"),
    ]:
        wrong = CliRunner().invoke(app, [*WORDS, "--overwrite", "--trust-code", *changes])
        assert wrong.exit_code == 2
        assert message in wrong.stderr
    assert (tmp_path / "run" / "recipe.toml").read_text() == recipe


def test_a_finished_run_is_not_resumed_in_an_epoch_beyond_its_last(tmp_path, caplog):
    assert CliRunner().invoke(app, [*WORDS[:-1], str(tmp_path / "run")]).exit_code == 0
    with caplog.at_level("INFO", "reweigh"):
        assert CliRunner().invoke(app, ["train", "--resume", str(tmp_path / "run")]).exit_code == 0
    assert f"{tmp_path / 'run'}: continuing after 2 epochs" in caplog.messages

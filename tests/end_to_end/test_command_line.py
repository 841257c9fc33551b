"""Every command of the guide to the command line works on the data that the guide makes."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from reweigh.cli.app import app

GUIDE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()


def test_the_commands_of_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.+?)```", GUIDE, re.DOTALL)
    assert code is not None
    exec(code[1], {})
    commands = re.findall(r"^    reweigh (.+)$", GUIDE, re.MULTILINE)
    assert len(commands) == 16
    for line in commands:
        words = shlex.split(line, comments=True)
        if words[0] == "train":
            words = [word for word in words if not word.startswith("train.epochs")]
            words += ["train.epochs=3", "train.warmup_epochs=1"]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{line}\n{result.output}"
    assert (tmp_path / "predictions.csv").read_text().startswith("row,predicted,probability\n0,")
    assert (tmp_path / "photos-two-looks-seed0.onnx").is_file()

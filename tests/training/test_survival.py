import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_ten_times_and_still_the_same_run(tmp_path):
    """SIGKILL at ten random moments, resumed each time: weights and metrics are those of a run left alone."""
    command = [sys.executable, HERE / "survival.py", HERE / "tiny.py", tmp_path, "10", "0"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert len(outcome["kills"]) == 10
    assert outcome["kills"][-1] > 0  # the lives built on each other
    assert outcome["different"] == []
    assert (tmp_path / "killed" / "model.safetensors").exists()

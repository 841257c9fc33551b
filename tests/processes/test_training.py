import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOME = (
    "erm", "two-looks", "cmw-net", "cmw-net-sl", "simclr", "l2rw", "elr", "co-teaching", "proden+cmw-net",
    "selectivenet+cmw-net", "mixmatch", "mean-teacher", "cmw-net:scope=last-layer",
)  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_processes_train_what_one_does_and_any_number_resumes(tmp_path: Path) -> None:
    command = [sys.executable, HERE / "training.py", tmp_path, "2", *SOME]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert set(outcome["methods"]) == set(SOME)
    assert all(difference < 1e-12 for difference in outcome["methods"].values()), outcome["methods"]
    assert outcome["resumed"] < 1e-12
    assert outcome["places"] == [
        "interrupted in epoch 2 of 4 after step 2 of 5",
        "interrupted in epoch 3 of 4 after step 3 of 5",
        "interrupted in epoch 4 of 4 after step 1 of 5",
    ]
    mine, alone = outcome["fetched"]
    assert 0 < mine < 0.6 * alone  # each process reads about half of what is read on demand
    assert outcome["features"] == [True, 4, 7]  # each image passes the frozen network in one process only

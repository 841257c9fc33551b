import json
import math

import pytest
import safetensors.torch
import torch
from torch import nn

from reweigh.errors import DataError
from reweigh.training import Run


def everything(run: Run) -> dict[str, bytes]:
    files = [file for file in run.path.rglob("*") if file.is_file() and file.name != "SHA256SUMS"]
    return {str(file.relative_to(run.path)): file.read_bytes() for file in files}


@pytest.fixture
def run(tmp_path) -> Run:
    return Run.create(tmp_path / "a" / "run", "seed = 1\n")


def test_create_makes_the_folder_and_stores_the_recipe(run):
    assert everything(run) == {"recipe.toml": b"seed = 1\n"}
    assert run.checkpoint.parent.is_dir()
    assert Run.open(run.path) == run


def test_an_empty_folder_will_do(tmp_path):
    (tmp_path / "checkpoint").mkdir()  # as left by a process killed at its very start
    Run.create(tmp_path, "")


def test_an_existing_run_is_refused_and_untouched(run):
    before = everything(run)
    with pytest.raises(
        DataError, match=r"there is a run already; continue it with --resume, replace it with --overwrite"
    ):
        Run.create(run.path, "new")
    assert everything(run) == before


def test_overwrite_clears_the_run_and_nothing_else(run):
    run.append_metrics({"epoch": 1})
    run.write_summary({})
    run.write_model(nn.Linear(1, 1))
    run.write_table(run.samples, {"index": [0]})
    for file in (run.test, run.abstain):
        run.write_predictions(file, torch.zeros(1), torch.zeros(1, 2), torch.zeros(1))
    run.write_classes(["a"], [1], None)
    for file in (run.checkpoint, run.weighting, run.inputs, run.report):
        file.write_text("old")
    (run.path / "notes.md").write_text("mine")
    Run.create(run.path, "new", overwrite=True)
    assert everything(run) == {"recipe.toml": b"new", "notes.md": b"mine"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_of_other_files_is_never_touched(tmp_path, overwrite):
    (tmp_path / "thesis.tex").write_text("...")
    with pytest.raises(DataError, match="files that are not of a run"):
        Run.create(tmp_path, "", overwrite=overwrite)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_not_a_folder(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(DataError, match="is a file"):
        Run.create(tmp_path / "run", "", overwrite=True)


def test_open_refuses_what_is_not_a_run(tmp_path):
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(DataError, match=r"there is no run here \(no recipe.toml\)"):
            Run.open(path)


def test_open_sweeps_up_after_a_killed_process(run):
    (run.path / ".summary.json.123.part").write_text("half")
    (run.checkpoint.parent / ".last.safetensors.123.part").write_text("half")
    Run.open(run.path)
    assert list(everything(run)) == ["recipe.toml"]


def test_metrics(run):
    assert run.read_metrics() == []
    lines = [{"epoch": 1, "loss": 0.1 + 0.2}, {"epoch": 2, "loss": float("nan")}]
    for line in lines:
        run.append_metrics(line)
    assert run.read_metrics() == [lines[0], {"epoch": 2, "loss": None}]
    with open(run.metrics, "a") as file:
        file.write('{"epoch": 3, "lo')
    assert len(run.read_metrics()) == 2
    run.write_metrics(lines[:1])
    assert run.metrics.read_text() == json.dumps(lines[0]) + "\n"


def test_summary_is_strict_json(run):
    run.write_summary({"best": {"accuracy": float("inf")}, "list": [1.5, float("nan")]})
    assert json.loads(run.summary.read_text(), parse_constant=pytest.fail) == {
        "best": {"accuracy": None},
        "list": [1.5, None],
    }


def test_model_loads_elsewhere_with_tied_weights(run):
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 3))
    model[2].weight = model[0].weight
    run.write_model(model)
    loaded = safetensors.torch.load_file(run.model)
    assert {name: value.tolist() for name, value in loaded.items()} == {
        name: value.tolist() for name, value in model.state_dict().items()
    }
    with safetensors.safe_open(run.model, "pt") as file:
        assert file.metadata()["format"] == "pt"


def test_samples_with_empty_cells_for_what_is_unknown(run):
    run.write_table(run.samples, {"index": range(3), "weight": [0.25, float("nan"), 1e-9], "family": [None, 1, 2]})
    assert run.samples.read_text().splitlines() == ["index,weight,family", "0,0.25,", "1,,1", "2,1e-09,2"]


def test_what_the_model_said_of_the_test(run):
    logits = torch.tensor([[0.0, math.log(3)], [0.0, math.log(4)]])
    scores = torch.tensor([0.5, 1 - 2**-40], dtype=torch.float64)
    lines = ["index,label,predicted,probability,right,score", "0,1,1,0.75,1,0.5", "1,0,1,0.8,0,0.9999999999990905"]
    for file in (run.test, run.abstain):
        run.write_predictions(file, torch.tensor([1, 0]), logits, scores)
        assert file.read_text().splitlines() == lines
    correction = torch.tensor([[1.25, -0.25], [-0.25, 1.25]])
    run.write_predictions(run.test, torch.tensor([1, 0]), logits, scores, correction)
    assert [line.split(",")[4] for line in run.test.read_text().splitlines()] == ["right", "1.25", "-0.25"]


def test_classes(run):
    run.write_classes(["a", "b"], [3, 1], [1, 0])
    classes = {"names": ["a", "b"], "sizes": [3, 1], "families": [1, 0], "finding": None, "decision": None}
    assert json.loads(run.classes.read_text()) == classes
    finding = {"share": [0.25, 0.0], "words": "Some are wrong."}
    run.write_classes(["a", "b"], [3, 1], None, finding)
    assert json.loads(run.classes.read_text()) == {**classes, "families": None, "finding": finding}


def test_a_process_that_was_killed_while_it_wrote_the_recipe_leaves_no_obstacle(tmp_path):
    (tmp_path / "run" / "checkpoint").mkdir(parents=True)
    (tmp_path / "run" / ".recipe.toml.123.part").write_text("[da")
    run = Run.create(tmp_path / "run", "x = 1\n")
    assert run.recipe.read_text() == "x = 1\n"
    assert not list(run.path.glob(".*.part"))

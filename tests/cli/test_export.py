"""``reweigh export``: the same predictions elsewhere, and all that is needed to make them."""

import csv
import json

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from reweigh.data.named.own_files import files
from reweigh.models import build


def probabilities(own, name):
    with open(own / name / "test.csv", newline="") as file:
        return [float(row["probability"]) for row in csv.DictReader(file)]


def test_safetensors_say_how_to_use_the_weights(own, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("export", own / "photos-run", "--to", "safetensors").exit_code == 0
    with safe_open("photos-run.safetensors", "pt") as file:
        about = file.metadata()
    names = json.loads(about["class_names"])
    assert names == ["digit 0", "digit 1", "digit 2"]
    assert about["input_scale"] == "bytes / 255"
    model = build("cnn", tuple(json.loads(about["input_shape"])), len(names)).eval()
    model.load_state_dict(load_file("photos-run.safetensors"))
    test = files(own, path="photos").test
    raw = test.inputs[torch.arange(len(test))]
    mean, std = (torch.tensor(json.loads(about[key])).view(1, -1, 1, 1) for key in ("mean", "std"))
    with torch.no_grad():
        found = model((raw / 255 - mean) / std).softmax(1).max(1).values
    assert found.tolist() == pytest.approx(probabilities(own, "photos-run"), abs=1e-5)


@pytest.mark.parametrize(
    ("name", "data", "label"), [("photos-run", "photos", None), ("table-run", "table.csv", "kind")]
)
def test_onnx_runs_by_itself(own, run, tmp_path, name, data, label):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    from onnx.reference import ReferenceEvaluator

    result = run("export", own / name, "--to", "onnx", "--out", tmp_path / "model.onnx")
    assert result.exit_code == 0, result.output
    model = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(model)
    about = {entry.key: entry.value for entry in model.metadata_props}
    test = files(own, path=data, label=label).test
    assert json.loads(about["class_names"]) == list(test.class_names)
    inputs = test.inputs[torch.arange(len(test))].float().numpy() / (255 if data == "photos" else 1)
    for rows in (slice(None), slice(0, 1)):  # any number of samples
        [logits] = ReferenceEvaluator(model).run(["logits"], {"inputs": inputs[rows].astype(np.float32)})
        found = torch.from_numpy(np.array(logits)).softmax(1).max(1).values
        assert found.tolist() == pytest.approx(probabilities(own, name)[rows], abs=1e-4)
    assert ("encoding" in about) == (label is not None)


def test_missing_packages_are_named(own, run, tmp_path, monkeypatch):
    monkeypatch.setattr("reweigh.fit.export.find_spec", lambda name: None)
    result = run("export", own / "table-run", "--to", "onnx", "--out", tmp_path / "model.onnx")
    assert result.exit_code == 2
    assert "pip install 'reweigh[export]'" in result.stderr
    assert not (tmp_path / "model.onnx").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{own}/table-run", "--to", "onnx", "--out", "model.pt"], "ends in .onnx; got '.pt'"),
        (["{own}/table-run", "--to", "pickle"], "'pickle' is not one of"),
        (["{own}/table-run", "--to", "safetensors", "--out", "taken.safetensors"], "already exists"),
        (["{own}/table-run", "--to", "onnx", "--out", "nowhere/m.onnx"], "there is no folder nowhere"),
        (["{own}", "--to", "onnx"], "there is no run here"),
    ],
)
def test_bad_input(own, run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.safetensors").touch()
    result = run("export", *[word.format(own=own) for word in words])
    assert result.exit_code == 2
    assert message in result.stderr

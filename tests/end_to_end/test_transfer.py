"""A weighting function learned in one run weighs the samples of another, and is handed on with its origin."""

from safetensors.numpy import load_file
from typer.testing import CliRunner

from reweigh.cli.app import app
from reweigh.weighting import load_weighting

SHORT = ["train.epochs=3", "train.warmup_epochs=1"]


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_learned_weighting_function_is_used_on_other_data(tmp_path):
    assert run("train", "demo", *SHORT, "--out", tmp_path / "learned").exit_code == 0
    file = tmp_path / "learned" / "weighting.safetensors"
    noise = "data.bias=[{name='symmetric', rate=0.3}, {name='long-tail', imbalance_factor=4}]"
    words = ["train", "demo", *SHORT, noise, f"method.weighting={file}", "--out", tmp_path / "used"]
    used = run(*words)
    assert used.exit_code == 0, used.stderr
    _, origin = load_weighting(file)
    assert origin.learned_on.startswith("digits, asymmetric")
    assert f"samples in {origin.learned_on}" in " ".join(used.stdout.split())
    handed_on = tmp_path / "used" / "weighting.safetensors"
    assert load_weighting(handed_on)[1] == origin
    before, after = load_file(file), load_file(handed_on)
    assert all((before[name] == after[name]).all() for name in before)
    assert "meta_loss" not in (tmp_path / "used" / "metrics.jsonl").read_text()


def test_no_weighting_function_there(tmp_path):
    missing = run("train", "demo", *SHORT, f"method.weighting={tmp_path / 'nowhere'}", "--out", tmp_path / "run")
    assert missing.exit_code == 2
    assert "give a weighting function that reweigh saved" in missing.stderr
    assert not (tmp_path / "run").exists()

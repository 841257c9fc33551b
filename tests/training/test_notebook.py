"""What a notebook shows is escaped, and tells last and best."""

import numpy as np

from reweigh.training import Result, Run
from reweigh.training.notebook import as_html, result_html

LINES = [{"epoch": 1, "test_accuracy": 0.9, "seconds": 1.0}, {"epoch": 2, "test_accuracy": 0.8, "seconds": 1.0}]


def test_texts_are_escaped():
    text = as_html("<b>", ["a<", "b"], [["<script>", 0.12345], [np.int64(7), np.float32(0.5)]], "x & y")
    assert "<script>" not in text
    assert "&lt;b&gt;" in text
    assert "<th>a&lt;</th>" in text
    assert "<td>&lt;script&gt;</td><td>0.123</td>" in text
    assert "<td>7</td><td>0.500</td>" in text
    assert "x &amp; y" in text
    assert "<table" not in as_html("nothing", [], [])


def test_last_and_best():
    text = result_html("Run", Result(LINES))
    assert "<th>last epoch (2)</th><th>best epoch (1)</th>" in text
    assert "<td>accuracy</td><td>0.800</td><td>0.900</td>" in text
    assert "no epoch is finished yet" in result_html("Run", Result([]))


def test_a_run_shows_itself(tmp_path):
    run = Run.create(tmp_path / "run", "")
    assert "no epoch is finished yet" in run._repr_html_()
    run.write_metrics(LINES)
    run.write_samples({"index": [0]})
    assert f"reweigh issues {run.path}" in run._repr_html_()

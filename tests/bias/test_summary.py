import json

import pytest
import torch

from reweigh.bias import BIASES, summarize


def test_the_numbers_of_a_bias():
    labels = torch.arange(100) % 4
    found = BIASES["asymmetric"](labels, 4, 0, rate=1.0, map={0: 1})
    summary = json.loads(json.dumps(summarize(found, ("a", "b", "c", "d"))))
    assert summary == {
        "samples": 100,
        "wrong": 25,
        "rate": 0.25,
        "replaced": 0,
        "class_sizes": {"a": 0, "b": 50, "c": 25, "d": 25},
        "transition": {"a": {"b": 1.0}, "b": {"b": 1.0}, "c": {"c": 1.0}, "d": {"d": 1.0}},
    }


def test_replaced_inputs_and_a_tail():
    labels = torch.arange(100) % 2
    assert summarize(BIASES["open-set"](labels, 2, 0, rate=0.4), "ab")["replaced"] == 40
    summary = summarize(BIASES["long-tail"](labels, 2, 0, imbalance_factor=10), "ab")
    assert (summary["samples"], summary["rate"]) == (55, pytest.approx(0))

"""Classes that no sample has any more are named, once."""

import logging

import torch

from reweigh.methods.parts.guesses import warn_of_vanished


def test_classes_without_a_sample_are_named(caplog):
    before = torch.tensor([0, 1, 1, 2])
    with caplog.at_level(logging.WARNING):
        warn_of_vanished(before, torch.tensor([0, 0, 0, 0]), ["cat", "dog", "elk", "fox"])
        warn_of_vanished(torch.tensor([0, 0]), torch.tensor([0, 0]), ["cat", "dog", "elk", "fox"])
    (record,) = caplog.records
    assert "no sample in 2 classes: dog, elk" in record.getMessage()


def test_training_goes_on_without_them(tiny, caplog):
    problem = tiny("plc")
    problem.method._reconsidered = lambda believed: torch.zeros(20, dtype=torch.int64)
    with caplog.at_level(logging.WARNING):
        for epoch in range(4):
            problem.epoch(epoch)
    assert [record.getMessage().split(": ")[1].split(";")[0] for record in caplog.records] == ["b, c"]
    assert problem.model.weight.isfinite().all()

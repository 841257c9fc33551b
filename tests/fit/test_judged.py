"""A judge by plan: which samples it holds out, what becomes of them, and for which methods it is there."""

import pytest
import torch

from reweigh.data import Dataset, from_arrays
from reweigh.errors import DataError
from reweigh.fit import fit
from reweigh.fit.issues import judges
from reweigh.plan.check import examine
from reweigh.plan.choose import MIN_JUDGED_SAMPLES, Facts, chosen

GENERATOR = torch.Generator().manual_seed(0)
TRUE = torch.arange(300) % 3
INPUTS = torch.nn.functional.one_hot(TRUE, 3) + 0.3 * torch.randn(300, 3, generator=GENERATOR)
GIVEN = torch.where(torch.rand(300, generator=GENERATOR) < 0.2, (TRUE + 1) % 3, TRUE)
DATA = from_arrays(INPUTS, GIVEN)


def plan_of(method: str = "erm", **train: object):
    given = {"method": {"name": method}, "train": {"epochs": 6, "warmup_epochs": 0, **train}}
    return examine(chosen(Facts.of(DATA), given), passed=["data"])


def test_a_share_of_each_class_is_held_out() -> None:
    found = judges(DATA, 0.1, seed=0)
    for label in range(3):
        assert (GIVEN[found] == label).sum() == pytest.approx(0.1 * torch.bincount(GIVEN)[label], abs=1)
    assert torch.equal(found, judges(DATA, 0.1, seed=0))
    assert not torch.equal(found, judges(DATA, 0.1, seed=1))


def test_classes_of_two_samples_are_not_held_out() -> None:
    labels = torch.tensor([0] * 20 + [1] * 2)
    found = judges(Dataset(torch.zeros(22, 2), labels, ("a", "b")), 0.5, seed=0)
    assert (labels[found] == 0).sum() == 10
    assert (labels[found] == 1).sum() == 0


def test_nothing_can_be_held_out() -> None:
    with pytest.raises(DataError, match=r"judge: no class has 3 samples with a label.*train without a judge"):
        judges(Dataset(torch.zeros(4, 2), torch.tensor([0, 0, 1, 1]), ("a", "b")), 0.1, seed=0)


@pytest.mark.parametrize("method", ["erm", "cmw-net", "elr"])
def test_every_sample_is_judged_and_the_kept_epoch_is_tested(method: str) -> None:
    plan, mistakes = plan_of(method, judge=0.2, prior=True)
    assert plan is not None, mistakes
    found = fit(DATA, plan, test_set=DATA.with_labels(TRUE))
    assert not found.samples.quality.isnan().any()
    assert found.tested is not None
    right = (found.decision.logits(found.tested.logits).argmax(1) == TRUE).double().mean()
    kept = found.history[int(found.history[-1]["judge_keeps"]) - 1]
    assert kept["test_accuracy"] == pytest.approx(float(right))
    assert 0 < kept["judge_error"] < 0.2


def test_two_looks_take_the_options_of_training_as_others_do() -> None:
    for given, judge, prior in (({}, 0.25, True), ({"judge": 0.1, "prior": False}, 0.1, False)):
        plan, _ = plan_of("two-looks", **given)
        assert plan is not None
        assert (plan.train["judge"], plan.train["prior"]) == (judge, prior)
    plan, mistakes = plan_of("two-looks", judge=0.0)
    assert plan is None
    assert mistakes[0].path == "train.judge"
    assert "judges its looks by held-out samples; should be from 0.1 to 0.5, or choose" in mistakes[0].text


def test_there_is_a_judge_by_default_if_there_are_enough_samples() -> None:
    few, many = (Facts(n, (5,), (n // 2, n - n // 2)) for n in (MIN_JUDGED_SAMPLES - 1, MIN_JUDGED_SAMPLES))
    asked = {"method": {"name": "elr"}}
    assert "judge" not in chosen(few, asked)["train"]
    assert chosen(many, asked)["train"]["judge"] == 0.1
    assert "judge" not in chosen(many, {})["train"]  # two looks have their own
    assert "judge" not in chosen(Facts(4000, (5,), (2,) * 2000), asked)["train"]  # too small to hold any out
    assert "judge" not in chosen(many._replace(candidates=True), {})["train"]

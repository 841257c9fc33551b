"""CMW-Net on top of another method: the same terms, weighted; the options of both; resumed whole."""

import re

import pytest
import torch

from reweigh.errors import RecipeError
from reweigh.losses import LOSSES
from reweigh.methods import METHODS, find, options_of_method
from reweigh.methods.cmw_net import CMWNet, OnTop, on_top_of, weighable
from reweigh.methods.erm import ERM
from reweigh.methods.proden import PRODEN

PAIRS = [name for name in METHODS if isinstance(METHODS[name], type) and issubclass(METHODS[name], OnTop)]


def test_there_are_pairs():
    assert {"ldam+cmw-net", "sade+cmw-net", "oltr+cmw-net"} <= set(PAIRS)


def test_on_top_of_plain_training_it_is_cmw_net(tiny, monkeypatch):
    monkeypatch.setitem(METHODS, "erm+cmw-net", on_top_of(ERM))
    plain, pair = tiny("cmw-net", every=1), tiny("erm+cmw-net", every=1)
    for epoch in range(3):
        torch.manual_seed(epoch)
        plain.epoch(epoch, warm_up=epoch == 0)
        torch.manual_seed(epoch)
        pair.epoch(epoch, warm_up=epoch == 0)
    assert torch.equal(plain.model.weight, pair.model.weight)
    assert torch.equal(plain.method.sample_weights(), pair.method.sample_weights())


@pytest.mark.parametrize("name", PAIRS)
def test_it_has_the_options_of_both(name):
    beneath = METHODS[name.removesuffix("+cmw-net")]
    options = options_of_method(METHODS[name])
    both = {**options_of_method(CMWNet), **options_of_method(beneath)}
    assert {key: both[key] for key in both if key not in beneath.fixed} == options
    assert METHODS[name].own_loss == beneath.own_loss
    assert METHODS[name].__doc__


def test_on_ldam_the_weighted_loss_is_ldam_but_warm_up_and_trusted_loss_are_cross_entropy(tiny):
    problem = tiny("ldam+cmw-net", max_margin=0.3, scale=4.0, every=1)
    method, batch = problem.method, problem.batches[0]
    ldam = METHODS["ldam"](problem.setup, max_margin=0.3, scale=4.0)
    logits = method.model(batch.inputs).detach()
    losses = method._beneath.objective(batch)(method.model).losses.detach()
    torch.testing.assert_close(losses, ldam.setup.loss(logits, batch.labels))
    assert not torch.allclose(losses, LOSSES["cross-entropy"](logits, batch.labels))
    assert method._reweighter.loss is problem.setup.loss
    assert tiny("ldam+cmw-net").method.weight_net().unit == 6.0
    assert tiny("ldam+cmw-net", loss_unit=1.0).method.weight_net().unit == 1.0
    method.start_epoch(0, warm_up=True)
    found = method.step(batch)["loss"]
    assert found == pytest.approx(float(LOSSES["cross-entropy"](logits, batch.labels).mean()))


def test_weights_learned_elsewhere_are_used_as_they_are(tiny, tmp_path):
    from reweigh.weighting import Origin, save_weighting

    learned = tiny("cmw-net", every=1)
    learned.epoch(0)
    save_weighting(tmp_path / "net.safetensors", learned.method.weight_net(), Origin())
    pair = tiny("oltr+cmw-net", weighting=str(tmp_path / "net.safetensors"))
    before = [param.clone() for param in pair.method.weight_net().parameters()]
    pair.epoch(0)
    assert all(torch.equal(*both) for both in zip(before, pair.method.weight_net().parameters(), strict=True))


def test_a_method_that_does_more_in_a_step_is_refused():
    with pytest.raises(AssertionError, match="PRODEN does more in a step"):
        on_top_of(PRODEN)


def test_any_method_that_only_brings_a_loss_can_be_combined(tiny):
    problem = tiny("gce+cmw-net", q=0.5, every=1)
    problem.epoch(0)
    losses = problem.method._beneath.objective(problem.batches[0])(problem.model).losses
    probabilities = problem.model(problem.batches[0].inputs).softmax(1)[range(12), problem.batches[0].labels]
    torch.testing.assert_close(losses, (1 - probabilities**0.5) / 0.5)
    assert find("focal+cmw-net") is find("focal+cmw-net")


@pytest.mark.parametrize("name", [name for name in METHODS if name != "erm" and weighable(METHODS[name])])
def test_every_method_that_is_weighable_is_combined(tiny, name):
    problem = tiny(f"{name}+cmw-net", every=1)
    for epoch in range(2):
        problem.epoch(epoch, warm_up=epoch == 0)
    weights = problem.method.sample_weights()
    assert bool(((weights > 0) & (weights < 1)).all())


REFUSED = ["dividemix", "erm", "cmw-net", "plc", "mentornet", "labeled-only", "ldam-drw"]


@pytest.mark.parametrize("name", ["elr+cmw", "gce+cmw-network", *(f"{name}+cmw-net" for name in REFUSED)])
def test_other_pairs_are_refused(name):
    with pytest.raises(RecipeError, match=f"no method named '{re.escape(name)}'"):
        find(name)

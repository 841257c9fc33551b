"""FixMatch with CMW-Net: its meta-gradient, its families, and what it is with all weights one."""

import pytest
import torch
from torch import Tensor, nn

from reweigh.methods import build
from reweigh.weighting import ClassAwareNet

pytest.importorskip("kornia")
LR, DECAY = 0.1, 0.01


def _doubled(it) -> ClassAwareNet:
    return it.method.weight_net().double()


def _slopes(net: nn.Module) -> list[Tensor]:
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in net.parameters()]


def _normalized(model: nn.Module) -> nn.Module:
    """The model with BatchNorm: the look-ahead sees the labeled batch and the views as one batch."""
    model.insert(1, nn.BatchNorm1d(16).double())
    return model


@pytest.mark.parametrize("engine", ["auto", "forward", "unrolled"])
def test_the_meta_gradient_is_that_of_the_look_ahead_by_hand(few, engine):
    it = few("fixmatch+cmw-net", engine=engine, factor=2.0, families=1, every=1).fixed()
    net = _doubled(it)
    trusted = it.data.batch(it.data.labeled.nonzero().squeeze(1)[:7])
    it.method._trusted.next = lambda size: (trusted.inputs, trusted.labels)
    params = dict(it.model.named_parameters())
    pseudo = it.model(it.batch.inputs).argmax(1)
    losses = it.setup.loss(it.model(it.views[it.batch.index]), pseudo)
    weights = net(losses.detach(), torch.zeros(12, dtype=torch.int64))
    inner = 2.0 * (weights * losses).mean() + it.setup.loss(it.model(it.labeled.inputs), it.labeled.labels).mean()
    slopes = torch.autograd.grad(inner, list(params.values()), create_graph=True)
    ahead = {name: p - LR * (s + DECAY * p) for (name, p), s in zip(params.items(), slopes, strict=True)}
    outer = it.setup.loss(torch.func.functional_call(it.model, ahead, (trusted.inputs,)), trusted.labels).mean()
    expected = torch.autograd.grad(outer, list(net.parameters()))
    assert it.step()["meta_loss"] == pytest.approx(float(outer.detach()))
    torch.testing.assert_close(_slopes(net), list(expected), rtol=1e-6, atol=1e-12)


def test_forward_mode_gives_the_numbers_of_the_unrolled_engine_with_batch_norm(few, monkeypatch):
    found = []
    for engine in ("forward", "unrolled"):
        it = few("labeled-only")
        model = _normalized(it.model)
        setup = type(it.setup)(**{**it.setup.__dict__, "optimizer": torch.optim.SGD(model.parameters(), LR, 0.9)})
        it.method = build("fixmatch+cmw-net", setup, labeled_batch=6, engine=engine, every=1, factor=2.0)
        net = _doubled(it.fixed())
        for _ in range(3):
            it.step()
        found.append(_slopes(net))
        assert max(float(slope.abs().max()) for slope in found[-1]) > 1e-6
    torch.testing.assert_close(*found, rtol=1e-6, atol=1e-12)


def test_with_all_weights_one_it_is_fixmatch_without_a_threshold(few):
    it, plain = few("fixmatch+cmw-net", factor=2.0).fixed(), few("fixmatch", factor=2.0, threshold=0.0).fixed()
    nn.init.constant_(it.method.weight_net().heads.bias, 100.0)
    it.method._reweighter._learner.steps = 1  # not due
    numbers = it.step()
    assert numbers["weight"] == 1.0
    assert "meta_loss" not in numbers
    assert numbers["loss"] == pytest.approx(plain.step()["loss"])
    it.check([p.detach() for p in plain.model.parameters()])


def test_families_are_those_of_the_pseudo_labels_anew_in_each_epoch(few):
    it = few("fixmatch+cmw-net", families=3).fixed()
    assert it.method.weight_net().num_families == 3
    assert it.method.families().num_families == 1  # four labels of each class
    pseudo = torch.tensor([0] * 2 + [1] * 20 + [2] * 8)
    it.method._guesses.note(torch.arange(30), pseudo, torch.ones(30))
    it.method.start_epoch(1, warm_up=False)
    assert it.method.families().of_class.tolist() == [0, 2, 1]
    assert it.method.families().centers.tolist() == [2, 8, 20]


@pytest.mark.parametrize("meta_set", ["labeled", "lowest-loss", "balanced-random"])
def test_trusted_are_the_labeled_samples(few, meta_set):
    it = few("fixmatch+cmw-net", meta_set=meta_set, every=1)
    it.method.start_epoch(0, warm_up=False)
    assert torch.equal(it.method._trusted.chosen, it.data.labeled.nonzero().squeeze(1))
    assert torch.as_tensor(it.step()["meta_loss"]).isfinite()

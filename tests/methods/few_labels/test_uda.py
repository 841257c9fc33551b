"""UDA against its formula, sample by sample."""

from math import exp

import pytest
import torch

pytest.importorskip("kornia")


def test_a_step_is_the_paper_s_but_for_the_entropy(few):
    it = few("uda", threshold=0.4, temperature=0.5, factor=2.0).fixed()
    kept = []

    def loss(model):
        total = it.setup.loss(model(it.labeled.inputs), it.labeled.labels).mean()
        for x, index in zip(it.batch.inputs, it.batch.index, strict=True):
            weak = model(x[None])[0].softmax(0).detach()
            kept.append(float(weak.max() > 0.4))
            target = weak ** (1 / 0.5) / (weak ** (1 / 0.5)).sum()
            strong = model(it.views[index][None])[0].log_softmax(0)
            divergence = (target * (target.log() - strong)).sum()
            total = total + 2.0 * kept[-1] * divergence / 12
        return total

    expected = it.expected(loss)
    numbers = it.step()
    it.check(expected)
    assert numbers["weight"] == pytest.approx(sum(kept) / 12)
    assert 0 < numbers["weight"] < 1


@pytest.mark.parametrize(("annealing", "risen"), [("linear", 0.5), ("exp", exp(-2.5)), ("log", 1 - exp(-2.5))])
def test_annealing_leaves_out_what_is_learned_already(few, annealing, risen):
    it = few("uda", factor=0.0, annealing=annealing, annealing_epochs=2).fixed()
    it.method.start_epoch(1, warm_up=False)
    with torch.no_grad():
        it.model[1].weight.mul_(20)  # sure of some, rightly or wrongly
    bound = 1 / 3 + (1 - 1 / 3) * risen

    def loss(model):
        losses = []
        for x, y in zip(it.labeled.inputs, it.labeled.labels, strict=True):
            likelihood = model(x[None])[0].softmax(0)[y]
            if likelihood <= bound:
                losses.append(-likelihood.log())
        assert 0 < len(losses) < 6
        return sum(losses) / len(losses)

    expected = it.expected(loss)
    it.step()
    it.check(expected)

"""UDA against its formula, sample by sample."""

import pytest

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

"""Pseudo-Label against its formula, sample by sample."""

import pytest
import torch


@pytest.mark.parametrize(("threshold", "epochs"), [(0.0, 1), (0.0, 3), (0.4, 1)])
def test_a_step_is_the_paper_s(few, threshold, epochs):
    it = few("pseudo-label", threshold=threshold, ramp_epochs=4, factor=2.0).fixed()
    for epoch in range(1, epochs + 1):
        it.method.start_epoch(epoch, warm_up=False)

    def loss(model):
        labeled = (
            sum(-model(x[None])[0].log_softmax(0)[y] for x, y in zip(it.labeled.inputs, it.labeled.labels, strict=True))
            / 6
        )
        unlabeled = 0.0
        for x in it.batch.inputs:
            probabilities = model(x[None])[0].softmax(0)
            if probabilities.max() >= threshold:
                unlabeled = unlabeled - probabilities[probabilities.argmax()].log() / 12
        return labeled + 2.0 * epochs / 4 * unlabeled

    kept = it.model(it.batch.inputs).softmax(1).max(1).values >= threshold
    expected = it.expected(loss)
    numbers = it.step()
    it.check(expected)
    assert numbers["weight"] == pytest.approx(float(kept.double().mean()))
    assert threshold == 0 or 0 < numbers["weight"] < 1
    weights = it.method.sample_weights()[it.batch.index]
    assert torch.equal(weights.isnan(), it.batch.labels >= 0)


def test_the_factor_counts_from_the_end_of_the_warm_up(few):
    it, plain = few("pseudo-label", ramp_epochs=4).fixed(), few("labeled-only").fixed()
    it.step()  # epoch 0 after the warm-up: a factor of 0
    plain.step()
    it.check([p.detach() for p in plain.model.parameters()])

"""FixMatch against its formula, and what it is without a threshold."""

import pytest

pytest.importorskip("kornia")


@pytest.mark.parametrize("threshold", [0.0, 0.4])
def test_a_step_is_the_paper_s_and_without_threshold_plain_pseudo_labeling_on_strong_views(few, threshold):
    it = few("fixmatch", threshold=threshold, factor=2.0).fixed()
    kept = []

    def loss(model):
        total = it.setup.loss(model(it.labeled.inputs), it.labeled.labels).mean()
        for x, index in zip(it.batch.inputs, it.batch.index, strict=True):
            weak = model(x[None])[0].softmax(0)
            kept.append(float(weak.max() >= threshold))
            strong = model(it.views[index][None])[0].log_softmax(0)
            total = total - 2.0 * kept[-1] * strong[weak.argmax()] / 12
        return total

    expected = it.expected(loss)
    numbers = it.step()
    it.check(expected)
    assert numbers["weight"] == pytest.approx(sum(kept) / 12)
    assert numbers["weight"] == 1.0 if threshold == 0 else 0 < numbers["weight"] < 1


def test_pseudo_labels_are_kept_and_reported(few):
    it = few("fixmatch", threshold=0.0).fixed()
    likeliest = it.model(it.batch.inputs).argmax(1)
    numbers = it.step()
    found = it.method._guesses.labels
    assert found[it.batch.index].tolist() == likeliest.tolist()
    assert (found == -1).sum() == 18
    right = (likeliest == it.data.true_labels[it.batch.index]).double().mean()
    assert numbers["pseudo_right"] == pytest.approx(float(right))

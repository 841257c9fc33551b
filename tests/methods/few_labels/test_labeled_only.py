"""What all methods for few labels share."""

import pytest
import torch

from reweigh.errors import DataError
from reweigh.methods import METHODS, build

SEMI = [name for name in METHODS if METHODS[name].unlabeled]


def test_labeled_only_is_plain_training_on_the_labeled_batch(few):
    it = few("labeled-only").fixed()
    expected = it.expected(lambda model: it.setup.loss(model(it.labeled.inputs), it.labeled.labels).mean())
    it.step()
    it.check(expected)


@pytest.mark.parametrize("name", SEMI)
def test_in_the_warm_up_only_labeled_samples_count(few, name):
    it, plain = few(name), few("labeled-only")
    for each in (it, plain):
        each.method.start_epoch(0, warm_up=True)
        each.step()
    it.check([p.detach() for p in plain.model.parameters()])


@pytest.mark.parametrize("decay", [0.0, 0.3, 0.999])
def test_the_average_that_is_judged(few, decay):
    it = few("labeled-only", average=decay)
    it.method.start_epoch(0, warm_up=False)
    total, mass = 0.0, 0.0
    for step in range(5):
        it.step()
        kept = min(decay, (1 + step) / (10 + step))
        total = kept * total + (1 - kept) * it.model[1].weight.detach()
        mass = kept * mass + (1 - kept)
    torch.testing.assert_close(it.method.model[1].weight, total / mass)


@pytest.mark.parametrize("name", SEMI)
def test_given_weights_reach_labeled_and_unlabeled_samples(few, name):
    plain, ones, zeros = (few(name, average=0.0) for _ in range(3))
    for it, weight in ((plain, None), (ones, 1.0), (zeros, 0.0)):
        given = None if weight is None else torch.full((30,), weight).double()
        object.__setattr__(it.data, "sample_weight", given)
        it.batch = it.data.batch(it.batch.index)
        it.method.start_epoch(0, warm_up=False)
        it.method.start_epoch(1, warm_up=False)
        before = [p.detach().clone() for p in it.model.parameters()]
        it.step()
        if weight == 0.0:
            it.check([p * (1 - 0.1 * 0.01) for p in before])  # weight decay is all that is left
    torch.testing.assert_close(plain.model[1].weight, ones.model[1].weight)


@pytest.mark.parametrize("name", SEMI)
def test_all_samples_may_have_a_label(few, name):
    it = few(name, labeled=30)
    it.method.start_epoch(0, warm_up=False)
    assert torch.as_tensor(it.step()["loss"]).isfinite()
    assert it.method.sample_weights() is None


@pytest.mark.parametrize("name", SEMI)
def test_none_may_not(few, name):
    it = few("labeled-only")
    it.data.labels.fill_(-1)
    with pytest.raises(DataError, match="no sample has a label"):
        build(name, it.setup)

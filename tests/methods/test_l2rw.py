"""Learning to reweight: weights by the definition, from double backward, and from the engines."""

from dataclasses import replace

import pytest
import torch


def loss_of(row, label):
    return -row.log_softmax(0)[label]


def slow_weights(slow, batch, trusted, lr, decay):
    """Unroll one step from weight zero, differentiate the trusted loss, clip, scale to a mean of one."""
    given = torch.zeros(len(batch), dtype=torch.float64, requires_grad=True)
    params = [slow.weight.detach().requires_grad_(), slow.bias.detach().requires_grad_()]

    def losses(params, inputs, labels):
        weight, bias = params
        rows = zip(inputs, labels.tolist(), strict=True)
        return torch.stack([loss_of(weight @ sample + bias, label) for sample, label in rows])

    objective = (given * losses(params, batch.inputs, batch.labels)).sum()
    slopes = torch.autograd.grad(objective, params, create_graph=True)
    ahead = [param - lr * (slope + decay * param) for param, slope in zip(params, slopes, strict=True)]
    (gradient,) = torch.autograd.grad(losses(ahead, *trusted).mean(), given)
    clipped = [max(0.0, -float(g)) for g in gradient]
    return [len(clipped) * weight / sum(clipped) for weight in clipped]


@pytest.mark.parametrize("engine", ["auto", "forward", "unrolled"])
def test_two_steps_by_the_definition(tiny, by_hand, engine, monkeypatch):
    problem = tiny("l2rw", engine=engine)
    slow = by_hand(problem.model)
    trusted = problem.data.batch(torch.tensor([1, 2, 3, 5, 8, 13]))
    monkeypatch.setattr(problem.method._trusted, "next", lambda size: (trusted.inputs, trusted.labels))
    problem.method.start_epoch(0, warm_up=False)
    for batch in problem.batches:
        numbers = problem.method.step(batch)
        weights = slow_weights(slow, batch, (trusted.inputs, trusted.labels), 0.1, 0.01)
        assert min(weights) == 0 < max(weights)
        assert numbers["weight"] == pytest.approx(1)
        found = problem.method.sample_weights()[batch.index]
        torch.testing.assert_close(found, torch.tensor(weights), atol=1e-5, rtol=1e-5)
        of_place = dict(zip(batch.index.tolist(), weights, strict=True))
        slow.step(batch, lambda row, label, place, w=of_place: w[place] * loss_of(row, label))
        slow.check(problem.model)


def test_warm_up_is_plain_training(like_erm):
    like_erm("l2rw", exactly=True, warm_up=True)
    with pytest.raises(AssertionError):
        like_erm("l2rw")


def test_between_the_steps_that_learn_all_count_fully(tiny):
    problem = tiny("l2rw", every=2)
    problem.method.start_epoch(0, warm_up=False)
    first, second = (problem.method.step(batch) for batch in problem.batches)
    assert first.keys() - second.keys() == {"meta_loss", "gradient_norm", "meta_gradient_norm"}
    weights = problem.method.sample_weights()
    assert weights[12:].tolist() == [1.0] * 8
    assert weights[:12].unique().numel() > 2


def test_given_weights_count_besides(tiny):
    plain, told = tiny("l2rw"), tiny("l2rw")
    twice = [replace(batch, weights=torch.full((len(batch),), 2.0).double()) for batch in told.batches]
    for problem, batch in ((plain, plain.batches[0]), (told, twice[0])):
        problem.method.start_epoch(0, warm_up=False)
        problem.method.step(batch)
    torch.testing.assert_close(plain.method.sample_weights(), told.method.sample_weights(), equal_nan=True)
    assert not torch.equal(plain.model.weight, told.model.weight)


def test_a_batch_that_helps_no_trusted_sample_teaches_nothing(tiny):
    problem = tiny("l2rw")
    problem.method.start_epoch(0, warm_up=False)
    batch = problem.batches[0]
    opposite = replace(batch, labels=(batch.labels + 1) % 3)
    inputs, labels = batch.inputs[:1], batch.labels[:1]
    same = replace(opposite, inputs=inputs, labels=opposite.labels[:1], index=batch.index[:1])
    problem.method._trusted.next = lambda size: (inputs, labels)
    with torch.no_grad():
        before = problem.model.weight * (1 - 0.1 * 0.01)
    assert problem.method.step(same)["weight"] == 0
    torch.testing.assert_close(problem.model.weight, before)

"""M-correction by hand: labels mixed with predictions by the probability that they are wrong."""

import torch

from reweigh.losses.class_sizes import log_shares, unlike_shares
from reweigh.methods.parts.guesses import BetaMixture


def test_bootstrapped_labels_by_a_loop(tiny):
    problem = tiny("m-correction", start=0.2)
    problem.epoch(0)
    problem.method.start_epoch(2, warm_up=False)
    batch, model = problem.batches[0], problem.model
    logits = model(batch.inputs).detach()
    every = model(problem.data.inputs.double()).detach().log_softmax(1)
    mixture = BetaMixture.fit(-every[torch.arange(20), problem.data.labels])
    expected = []
    for row, label in zip(logits, batch.labels.tolist(), strict=True):
        wrong = float(mixture(-row.log_softmax(0)[label][None]).clamp(1e-4, 1 - 1e-4))
        target = torch.zeros(3, dtype=torch.float64)
        target[label] += 1 - wrong
        target[row.argmax()] += wrong
        expected.append(target)
    torch.testing.assert_close(problem.method._bootstrapped(batch, mixture), torch.stack(expected), atol=1e-6, rtol=0)
    assert model.training


def test_without_mixing_penalty_and_bootstrapping_it_is_plain(like_erm):
    like_erm("m-correction", start=1.0, mixup=0.0, penalty=0.0)


def test_the_penalty_joins_when_bootstrapping_begins(tiny):
    def after(epochs: int, penalty: float) -> torch.Tensor:
        problem = tiny("m-correction", start=0.25, mixup=0.0, penalty=penalty)  # of eight epochs
        for epoch in range(epochs):
            problem.epoch(epoch)
        return problem.model.weight.detach()

    assert torch.equal(after(2, 0.0), after(2, 5.0))
    assert not torch.allclose(after(3, 0.0), after(3, 5.0))


def test_the_penalty_by_a_loop():
    logits, sizes = torch.randn(7, 3).double(), torch.tensor([5.0, 3.0, 2.0]).double()
    mean = [sum(float(row.softmax(0)[k]) for row in logits) / 7 for k in range(3)]
    shares = (sizes / 10).tolist()
    expected = sum(share * torch.tensor(share / p).log().item() for share, p in zip(shares, mean, strict=True))
    assert abs(float(unlike_shares(logits, log_shares(sizes))) - expected) < 1e-5
    assert abs(float(unlike_shares(sizes.log()[None].expand(4, 3), log_shares(sizes)))) < 1e-5

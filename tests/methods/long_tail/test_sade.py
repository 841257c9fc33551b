"""SADE: the losses of three experts by a loop, and the shares in reversed order."""

from math import log

import torch

from reweigh.methods.long_tail import reverse


def test_reversed_shares():
    assert reverse(torch.tensor([5.0, 1.0, 3.0, 2.0])).tolist() == [1.0, 5.0, 2.0, 3.0]


def test_the_objective_by_a_loop(tiny):
    problem = tiny("sade", strength=1.5)
    method, batch = problem.method, problem.batches[0]
    shares, backward = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    experts = method.model(batch.inputs, apart=True).detach()
    assert experts.shape == (3, 12, 3)
    assert not torch.allclose(experts[0], experts[1])
    found = method.objective(batch)(method.model).coefficients.detach()
    for place, label in enumerate(batch.labels.tolist()):
        adjusted = [
            [float(z) for z in experts[0, place]],
            [float(z) + log(s) for z, s in zip(experts[1, place], shares, strict=True)],
            [float(z) + log(s) - 1.5 * log(b) for z, s, b in zip(experts[2, place], shares, backward, strict=True)],
        ]
        expected = sum(-float(torch.tensor(row).log_softmax(0)[label]) for row in adjusted)
        assert abs(float(found[place]) - expected) < 1e-4
    torch.testing.assert_close(method.model(batch.inputs).detach(), experts.mean(0))

"""MCW: class-balanced weights, corrected by the gradient of the meta loss, against autograd through the step."""

import torch
from torch.func import functional_call


def test_weights_by_differentiating_through_the_step(tiny):
    problem = tiny("mcw", start=0.0, step_size=0.5, beta=0.9)
    method, batch = problem.method, problem.batches[0]
    method.start_epoch(0, warm_up=False)
    trusted = method._trusted.next(len(batch))
    method._trusted.next = lambda size: trusted
    inverse = [1 / sum(0.9**k for k in range(size)) for size in (10, 6, 4)]
    base = torch.tensor([3 * inverse[label] / sum(inverse) for label in batch.labels.tolist()], dtype=torch.float64)
    params = {name: param.detach().requires_grad_() for name, param in problem.model.named_parameters()}
    weights = base.clone().requires_grad_()
    losses = problem.setup.loss(functional_call(problem.model, params, (batch.inputs,)), batch.labels)
    slopes = torch.autograd.grad((weights * losses).mean(), list(params.values()), create_graph=True)
    ahead = {
        name: param - 0.1 * (slope + 0.01 * param) for (name, param), slope in zip(params.items(), slopes, strict=True)
    }
    meta = problem.setup.loss(functional_call(problem.model, ahead, (trusted[0],)), trusted[1]).mean()
    (gradient,) = torch.autograd.grad(meta, weights)
    expected = (base - 0.5 * gradient).clamp_min(0)
    method.step(batch)
    found = method.sample_weights()[batch.index]
    torch.testing.assert_close(found.double(), expected, atol=1e-6, rtol=1e-5)
    assert not torch.allclose(found.double(), base, atol=1e-5)


def test_at_first_training_is_plain(like_erm):
    like_erm("mcw", exactly=True, start=1.0)

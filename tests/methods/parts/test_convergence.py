"""Gradients of both levels on fixed samples: against a double backward, and without a trace in training."""

import copy

import torch
import torch.nn.functional as F

from reweigh.methods import build


def _by_double_backward(method, data, index, trusted, lr, decay):
    """The squared norms from the definitions: Eq. 7 to 9 of the paper, with autograd alone."""
    weight, bias = (param.detach().clone().requires_grad_() for param in method.model.parameters())
    net, families = copy.deepcopy(method.weight_net()), method.families()
    batch, meta = data.batch(index), data.batch(trusted)
    losses = F.cross_entropy(F.linear(batch.inputs, weight, bias), batch.labels, reduction="none")
    weights = net(losses.detach().float(), families.of_class[batch.labels]).double()
    training = (weights * losses).sum() / weights.detach().sum()
    slopes = torch.autograd.grad(training, (weight, bias), create_graph=True)
    ahead = [
        param - lr * (slope + decay * param)
        for param, slope in zip((weight.detach(), bias.detach()), slopes, strict=True)
    ]
    outer = F.cross_entropy(F.linear(meta.inputs, *ahead), meta.labels)
    grads = torch.autograd.grad(outer, list(net.parameters()))
    return sum(float(slope.square().sum()) for slope in slopes), sum(float(g.double().square().sum()) for g in grads)


def test_the_norms_are_those_of_a_double_backward(tiny):
    problem = tiny("cmw-net", every=1, convergence=5, engine="forward", meta_lr=0.05)
    problem.epoch(0)
    method = problem.method
    first = method._trusted.chosen.clone()
    problem.epoch(1)
    method.start_epoch(2, warm_up=False)
    index = torch.tensor([0, 5, 10, 14, 19])  # spread evenly over twenty samples
    expected = _by_double_backward(method, problem.data, index, first, 0.1, 0.01)
    numbers = method.step(problem.batches[0])
    found = [float(numbers[name]) for name in ("squared_gradient", "squared_meta_gradient")]
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-4, atol=1e-12)
    assert "squared_gradient" not in method.step(problem.batches[1])


def test_training_goes_on_as_if_nobody_had_looked(tiny):
    plain, watched = tiny("cmw-net", every=1), tiny("cmw-net", every=1, convergence=20)
    for problem in (plain, watched):
        torch.manual_seed(0)
        for epoch in range(3):
            problem.epoch(epoch, warm_up=epoch == 0)
    assert torch.equal(plain.model.weight, watched.model.weight)
    assert torch.equal(plain.method.sample_weights(), watched.method.sample_weights())


def test_it_is_resumed_with_the_same_trusted_samples(tiny):
    problem = tiny("cmw-net", every=1, convergence=20)
    problem.epoch(0)
    problem.method.start_epoch(1, warm_up=False)
    again = tiny("cmw-net", every=1, convergence=20)
    again.method.load_state_dict(copy.deepcopy(problem.method.state_dict()))
    ours, theirs = (each.method.step(each.batches[0]) for each in (problem, again))
    assert torch.equal(ours["squared_meta_gradient"], theirs["squared_meta_gradient"])


def test_on_top_of_another_method_it_is_the_objective_of_the_pair(tiny):
    found = {}
    for name in ("cmw-net", "ldam+cmw-net"):
        problem = tiny(name, every=1, convergence=20)
        problem.method.start_epoch(0, warm_up=False)
        found[name] = float(problem.method.step(problem.batches[0])["squared_gradient"])
    assert 0 < found["cmw-net"] != found["ldam+cmw-net"] > 0


def test_a_frozen_function_has_nothing_to_converge(tiny, tmp_path):
    from reweigh.weighting import Origin, save_weighting

    save_weighting(tmp_path / "net.safetensors", tiny("cmw-net").method.weight_net(), Origin())
    setup = tiny("erm").setup
    method = build("cmw-net", setup, weighting=str(tmp_path / "net.safetensors"), convergence=20)
    method.start_epoch(0, warm_up=False)
    assert "squared_gradient" not in method.step(setup.train_set.batch(torch.arange(12)))

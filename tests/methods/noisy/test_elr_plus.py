"""ELR+ by hand: each network is held to what the average of the other predicted, on mixed samples."""

import torch

from reweigh.pseudo_labels import Mix


def test_two_steps_by_hand(tiny, by_hand, monkeypatch):
    problem = tiny("elr+", strength=2.0, momentum=0.6, average=0.0)
    nets = [by_hand(problem.model), by_hand(problem.method._peer.model)]
    averages = [by_hand(problem.model), by_hand(problem.method._peer.model)]
    targets = torch.zeros(2, 20, 3, dtype=torch.float64)

    def reversed_mix(inputs, strength, generator):
        return Mix(torch.arange(len(inputs)).flip(0), 0.8)

    monkeypatch.setattr("reweigh.methods.noisy.elr.checked_draw", reversed_mix)
    problem.epoch(0)
    for batch in problem.batches:
        labels, places = batch.labels.tolist(), batch.index.tolist()
        for number, net in enumerate(nets):
            for x, i in zip(batch.inputs, places, strict=True):
                believed = averages[1 - number].logits(x).softmax(0).detach()
                targets[number, i] = 0.6 * targets[number, i] + 0.4 * believed
            losses = []
            for own, other in zip(range(len(places)), reversed(range(len(places))), strict=True):
                row = net.logits(0.8 * batch.inputs[own] + 0.2 * batch.inputs[other])
                target = 0.8 * targets[number, places[own]] + 0.2 * targets[number, places[other]]
                log_p = row.log_softmax(0)
                fit = -0.8 * log_p[labels[own]] - 0.2 * log_p[labels[other]]
                losses.append(fit + 2.0 * (1 - (target * row.softmax(0)).sum()).log())
            slopes = torch.autograd.grad(torch.stack(losses).mean(), (net.weight, net.bias))
            with torch.no_grad():
                for param, slope in zip((net.weight, net.bias), slopes, strict=True):
                    param -= 0.1 * (slope + 0.01 * param)
            averages[number].weight, averages[number].bias = net.weight.detach().clone(), net.bias.detach().clone()
    for net, model in zip(nets, (problem.model, problem.method._peer.model), strict=True):
        torch.testing.assert_close(model.get_parameter("weight"), net.weight, atol=1e-6, rtol=0)


def test_whole_numbers_cannot_be_mixed(tiny):
    import pytest

    from reweigh.errors import DataError
    from reweigh.pseudo_labels import checked_draw

    with pytest.raises(DataError, match=r"cannot mix inputs of torch\.int64; set method\.mixup = 0"):
        checked_draw(torch.arange(3), 1.0, torch.Generator())
    unmixed = checked_draw(torch.arange(3), 0.0, torch.Generator())
    assert torch.equal(unmixed.inputs(torch.arange(3.0)), torch.arange(3.0))

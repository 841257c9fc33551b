"""Experts share the layers below their last block, which are computed once."""

import copy

import torch
from torch import nn

from reweigh.models import build
from reweigh.models.experts import Experts


def test_experts_of_a_residual_network():
    torch.manual_seed(0)
    model = build("resnet32", (3, 8, 8), 4)
    alone = copy.deepcopy(model)
    experts = Experts(model)
    images = torch.randn(5, 3, 8, 8)
    torch.testing.assert_close(experts(images, apart=True)[0], alone(images))
    own = sum(param.numel() for param in alone.blocks[-1].parameters())
    own += sum(param.numel() for param in alone.classifier.parameters())
    every = sum(param.numel() for param in alone.parameters())
    assert sum(param.numel() for param in experts.parameters()) == every + 2 * own


def test_shared_layers_are_called_once_and_their_gradient_comes_from_all():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    experts = Experts(model)
    calls = []
    model[0].register_forward_hook(lambda *_: calls.append(1))
    rows = torch.randn(7, 4)
    each = experts(rows, apart=True)
    assert len(calls) == 1
    slow = torch.stack([torch.relu(model[0](rows)) @ expert[2].weight.T + expert[2].bias for expert in experts.experts])
    torch.testing.assert_close(each, slow)
    torch.testing.assert_close(experts(rows), slow.mean(0))
    slopes = [
        torch.autograd.grad(outputs.square().sum(), model[0].weight)[0] for outputs in (experts(rows, apart=True), slow)
    ]
    torch.testing.assert_close(*slopes)


def test_a_copy_computes_for_itself():
    torch.manual_seed(0)
    experts = Experts(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)))
    rows = torch.randn(7, 4)
    before = experts(rows)
    again = copy.deepcopy(experts)
    with torch.no_grad():
        experts.experts[0][0].weight.zero_()
    torch.testing.assert_close(again(rows), before)

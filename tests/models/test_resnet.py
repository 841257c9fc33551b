import pytest
import torch
import torch.nn.functional as F
from torch import nn

from reweigh.models.resnet import Block, resnet32


@pytest.mark.parametrize(("inputs", "outputs", "stride"), [(16, 16, 1), (16, 32, 2), (3, 8, 2)])
def test_shortcut_has_no_parameters(inputs, outputs, stride):
    """With a residual of zero the block keeps every second pixel and puts zeros into the new channels."""
    block, features = Block(inputs, outputs, stride), torch.randn(2, inputs, 6, 7)
    nn.init.zeros_(block.conv2.weight)
    expected = torch.zeros(2, outputs, -(-6 // stride), -(-7 // stride))
    before = (outputs - inputs) // 2
    for y in range(expected.shape[2]):
        for x in range(expected.shape[3]):
            expected[:, before : before + inputs, y, x] = features[:, :, y * stride, x * stride].clamp(min=0)
    torch.testing.assert_close(block(features), expected)


def test_block_against_the_formula():
    torch.manual_seed(0)
    block, features = Block(4, 4, 1), torch.randn(3, 4, 5, 5)

    def normalized(x):
        return (x - x.mean((0, 2, 3), keepdim=True)) / (x.var((0, 2, 3), keepdim=True, correction=0) + 1e-5).sqrt()

    inner = normalized(F.conv2d(features, block.conv1.weight, padding=1)).clamp(min=0)
    expected = (normalized(F.conv2d(inner, block.conv2.weight, padding=1)) + features).clamp(min=0)
    torch.testing.assert_close(block(features), expected)


def test_depth():
    """32 layers with weights: 31 convolutions and the linear one; nothing else has weights but BatchNorm."""
    layers = [module for module in resnet32((3, 32, 32), 10).modules() if isinstance(module, nn.Conv2d | nn.Linear)]
    assert len(layers) == 32

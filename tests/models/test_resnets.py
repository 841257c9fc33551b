import pytest
import torch
import torch.nn.functional as F
from torch import nn

from reweigh.errors import ModelError
from reweigh.models.resnets import (
    PreActBlock,
    ThinBlock,
    preact_resnet,
    preact_resnet18,
    resnet10,
    resnet32,
    resnet34,
    resnet50,
    wrn_28_2,
    wrn_28_8,
)


@pytest.mark.parametrize(("inputs", "outputs", "stride"), [(16, 16, 1), (16, 32, 2), (3, 8, 2)])
def test_shortcut_has_no_parameters(inputs, outputs, stride):
    """With a residual of zero the block keeps every second pixel and puts zeros into the new channels."""
    block, features = ThinBlock(inputs, outputs, stride), torch.randn(2, inputs, 6, 7)
    nn.init.zeros_(block.residual[3].weight)
    expected = torch.zeros(2, outputs, -(-6 // stride), -(-7 // stride))
    before = (outputs - inputs) // 2
    for y in range(expected.shape[2]):
        for x in range(expected.shape[3]):
            expected[:, before : before + inputs, y, x] = features[:, :, y * stride, x * stride].clamp(min=0)
    torch.testing.assert_close(block(features), expected)


def test_block_against_the_formula():
    torch.manual_seed(0)
    block, features = ThinBlock(4, 4, 1), torch.randn(3, 4, 5, 5)

    def normalized(x):
        return (x - x.mean((0, 2, 3), keepdim=True)) / (x.var((0, 2, 3), keepdim=True, correction=0) + 1e-5).sqrt()

    inner = normalized(F.conv2d(features, block.residual[0].weight, padding=1)).clamp(min=0)
    expected = (normalized(F.conv2d(inner, block.residual[3].weight, padding=1)) + features).clamp(min=0)
    torch.testing.assert_close(block(features), expected)


def test_depth_of_the_thin_network():
    """32 layers with weights: 31 convolutions and the linear one; nothing else has weights but BatchNorm."""
    layers = [module for module in resnet32((3, 32, 32), 10).modules() if isinstance(module, nn.Conv2d | nn.Linear)]
    assert len(layers) == 32


@pytest.mark.parametrize(("size", "stem", "after"), [
    (32, "auto", 32),
    (64, "auto", 64),
    (65, "auto", 17),
    (224, "auto", 56),
    (224, "small", 224),
    (64, "imagenet", 16),
])  # fmt: skip
def test_stem_by_size(size, stem, after):
    with torch.device("meta"):
        features = resnet10((3, size, size), 10, stem=stem).stem(torch.empty(1, 3, size, size))
    assert features.shape == (1, 64, after, after)


def test_a_long_image_is_not_small():
    with torch.device("meta"):
        features = resnet10((3, 32, 128), 10).stem(torch.empty(1, 3, 32, 128))
    assert features.shape == (1, 64, 8, 32)


@pytest.mark.parametrize(("make", "depth"), [(resnet10, 10), (resnet34, 34), (resnet50, 50)])
def test_depth(make, depth):
    """Convolutions and the linear layer, without the projections of the shortcuts."""
    with torch.device("meta"):
        model = make((3, 32, 32), 10)
    layers = [name for name, module in model.named_modules() if isinstance(module, nn.Conv2d | nn.Linear)]
    assert sum("shortcut" not in name for name in layers) == depth


def test_too_small_for_the_stem_of_imagenet():
    with pytest.raises(ModelError, match="'resnet34' needs images of at least 32 x 32, but got 28 x 28"):
        resnet34((1, 28, 28), 10, stem="imagenet")


def counted(stem, widths, blocks, classes):
    """Parameters by the papers' tables: weights of convolutions, two numbers a normalized channel, a linear layer."""
    total, inputs = 3 * stem * 9, stem
    for outputs in widths:
        for place in range(blocks):
            came = inputs if place == 0 else outputs
            total += 2 * came + came * outputs * 9 + 2 * outputs + outputs * outputs * 9
        first_changes = inputs != outputs  # the only change of size without a change of channels would be a stride
        total += inputs * outputs if first_changes else 0
        inputs = outputs
    return total + 2 * inputs + inputs * classes + classes


def size(model):
    return sum(p.numel() for p in model.parameters())


def test_parameters_by_the_tables():
    with torch.device("meta"):
        assert size(preact_resnet18((3, 32, 32), 100)) == counted(64, (64, 128, 256, 512), 2, 100)
        assert size(wrn_28_2((3, 32, 32), 100)) == counted(16, (32, 64, 128), 4, 100)
        assert size(wrn_28_8((3, 32, 32), 100)) == counted(16, (128, 256, 512), 4, 100)


def test_wrn_28_10():
    """The member that its paper counts: 36.5M parameters (Zagoruyko and Komodakis 2016, table 4)."""
    with torch.device("meta"):
        model = preact_resnet("wrn-28-10", (3, 32, 32), 10, 16, (160, 320, 640), 4)
    assert round(size(model) / 1e6, 1) == 36.5


def test_identity_where_the_shape_stays():
    block, features = PreActBlock(4, 4, 1, dropout=0.0), torch.randn(2, 4, 5, 5)
    nn.init.zeros_(block.conv2.weight)
    assert torch.equal(block(features), features)


def test_projection_sees_the_activated_input():
    block, features = PreActBlock(4, 8, 2, dropout=0.0).eval(), torch.randn(2, 4, 6, 6)
    nn.init.zeros_(block.conv2.weight)
    assert block.shortcut is not None
    active = (features / (1 + 1e-5) ** 0.5).clamp(min=0)  # fresh statistics: mean 0, variance 1
    torch.testing.assert_close(block(features), block.shortcut(active))


def test_dropout_is_an_option():
    rates = [m.p for m in wrn_28_2((3, 32, 32), 10, dropout=0.3).modules() if isinstance(m, nn.Dropout)]
    assert rates == [0.3] * 12

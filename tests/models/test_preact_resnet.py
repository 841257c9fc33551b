import torch
from torch import nn

from reweigh.models.preact_resnet import Block, PreActResNet, preact_resnet18, wrn_28_2, wrn_28_8


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
        model = PreActResNet(3, 10, stem=16, widths=(160, 320, 640), blocks=4)
    assert round(size(model) / 1e6, 1) == 36.5


def test_identity_where_the_shape_stays():
    block, features = Block(4, 4, 1, dropout=0.0), torch.randn(2, 4, 5, 5)
    nn.init.zeros_(block.conv2.weight)
    assert torch.equal(block(features), features)


def test_projection_sees_the_activated_input():
    block, features = Block(4, 8, 2, dropout=0.0).eval(), torch.randn(2, 4, 6, 6)
    nn.init.zeros_(block.conv2.weight)
    assert block.shortcut is not None
    active = (features / (1 + 1e-5) ** 0.5).clamp(min=0)  # fresh statistics: mean 0, variance 1
    torch.testing.assert_close(block(features), block.shortcut(active))


def test_dropout_is_an_option():
    rates = [m.p for m in wrn_28_2((3, 32, 32), 10, dropout=0.3).modules() if isinstance(m, nn.Dropout)]
    assert rates == [0.3] * 12

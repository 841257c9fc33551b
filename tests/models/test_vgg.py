import torch
from torch import nn

from reweigh.models.vgg import vgg16_bn, vgg19_bn


def rates(model):
    return [module.p for module in model if isinstance(module, nn.Dropout)]


def small(make, size=32, **options):
    with torch.device("meta"):
        return make((3, size, size), 10, **options)


def test_depth():
    for make, depth in ((vgg16_bn, 16), (vgg19_bn, 19)):
        for head, hidden in (("small", 1), ("imagenet", 2)):
            layers = [m for m in small(make, head=head) if isinstance(m, nn.Conv2d | nn.Linear)]
            assert len(layers) == depth - (2 - hidden)


def test_dropout_of_the_cifar_version():
    """As in github.com/geifmany/cifar-vgg: 0.3, then 0.4 wherever no pooling follows, 0.5 twice in the head."""
    assert rates(small(vgg16_bn)) == [0.3] + [0.4] * 7 + [0.5, 0.5]
    assert rates(small(vgg19_bn)) == [0.5, 0.5]
    assert rates(small(vgg16_bn, first_dropout=0.0, conv_dropout=0.0, dropout=0.1)) == [0.1, 0.1]
    assert rates(small(vgg16_bn, conv_dropout=0.0)) == [0.3, 0.5, 0.5]


def test_small_head_of_larger_images():
    model = small(vgg19_bn, size=64)
    hidden = [m for m in model if isinstance(m, nn.Linear)]
    assert [(m.in_features, m.out_features) for m in hidden] == [(512 * 4, 512), (512, 10)]
    assert model.eval()(torch.empty(2, 3, 64, 64, device="meta")).shape == (2, 10)


def test_head_of_imagenet_for_small_images():
    model = small(vgg19_bn, size=64, head="imagenet")
    assert model.eval()(torch.empty(2, 3, 64, 64, device="meta")).shape == (2, 10)

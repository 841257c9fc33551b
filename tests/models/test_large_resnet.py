import pytest
import torch
from torch import nn

from reweigh.errors import ModelError
from reweigh.models.large_resnet import resnet10, resnet34, resnet50


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

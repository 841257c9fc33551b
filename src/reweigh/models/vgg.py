"""VGG networks with BatchNorm (Simonyan and Zisserman 2015), with the small head of CIFAR versions or the original."""

from typing import Annotated, Literal

from annotated_types import Ge, Lt
from torch import nn

from reweigh.models.images import he_normal, image_shape

Head = Literal["auto", "small", "imagenet"]
Dropout = Annotated[float, Ge(0), Lt(1)]

WIDTHS = (64, 128, 256, 512, 512)
LARGEST_SMALL_IMAGE = 64


def vgg16_bn(
    input_shape: tuple[int, ...],
    num_classes: int,
    *,
    head: Head = "auto",
    dropout: Dropout = 0.5,
    first_dropout: Dropout = 0.3,
    conv_dropout: Dropout = 0.4,
) -> nn.Module:
    """VGG-16 with BatchNorm, and dropout between its convolutions as in the CIFAR version that SelectiveNet uses.

    Args:
        head: "small" (one hidden layer of 512 with BatchNorm), "imagenet" (average over 7 x 7 regions, two hidden
            layers of 4096), or "auto", which is small for images of at most 64 x 64.
        dropout: Share of features dropped in the head.
        first_dropout: Share of features dropped after the first convolution.
        conv_dropout: Share of features dropped after each later convolution, except before pooling.
    """
    return _vgg("vgg16-bn", input_shape, num_classes, (2, 2, 3, 3, 3), head, dropout, first_dropout, conv_dropout)


def vgg19_bn(
    input_shape: tuple[int, ...], num_classes: int, *, head: Head = "auto", dropout: Dropout = 0.5
) -> nn.Module:
    """VGG-19 with BatchNorm, and dropout in its head only.

    Arguments and errors are those of ``vgg16_bn``.
    """
    return _vgg("vgg19-bn", input_shape, num_classes, (2, 2, 4, 4, 4), head, dropout, 0.0, 0.0)


def _vgg(
    name: str,
    input_shape: tuple[int, ...],
    num_classes: int,
    blocks: tuple[int, ...],
    head: Head,
    dropout: float,
    first_dropout: float,
    conv_dropout: float,
) -> nn.Module:
    channels, height, width = image_shape(name, input_shape, at_least=32)
    small = head == "small" or (head == "auto" and max(height, width) <= LARGEST_SMALL_IMAGE)
    layers, rate = [], first_dropout
    for outputs, count in zip(WIDTHS, blocks, strict=True):
        for number in range(count):
            layers += [nn.Conv2d(channels, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
            if rate and number < count - 1:
                layers.append(nn.Dropout(rate))
            channels, rate = outputs, conv_dropout
        layers.append(nn.MaxPool2d(2))
    if small:
        layers += _small_head(channels * (height // 32) * (width // 32), num_classes, dropout)
    else:
        layers += _imagenet_head(channels, num_classes, dropout)
    model = nn.Sequential(*layers)
    he_normal(model)
    return model


def _small_head(inputs: int, num_classes: int, dropout: float) -> list[nn.Module]:
    hidden = [nn.Linear(inputs, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Dropout(dropout)]
    return [nn.Flatten(), nn.Dropout(dropout), *hidden, nn.Linear(512, num_classes)]


def _imagenet_head(channels: int, num_classes: int, dropout: float) -> list[nn.Module]:
    first = [nn.Linear(channels * 7 * 7, 4096), nn.ReLU(), nn.Dropout(dropout)]
    second = [nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(dropout)]
    return [nn.AdaptiveAvgPool2d(7), nn.Flatten(), *first, *second, nn.Linear(4096, num_classes)]

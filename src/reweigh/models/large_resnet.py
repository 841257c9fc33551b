"""The residual networks of He et al. (2016) for ImageNet, with a stem for small images."""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.models.images import he_normal, image_shape

Stem = Literal["auto", "small", "imagenet"]

LARGEST_SMALL_IMAGE = 64


class Block(nn.Module):
    """Convolutions with BatchNorm and ReLU between them, around a shortcut that is projected where the shape changes.

    Args:
        inputs: Input channels.
        width: Channels of the 3x3 convolutions.
        stride: 2 halves the image.
        bottleneck: Whether the block is one 3x3 convolution between two 1x1, with four times as many output channels;
            otherwise it is two 3x3 convolutions.
    """

    def __init__(self, inputs: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        if bottleneck:
            outputs = 4 * width
            layers = [*_convolution(inputs, width, 1), nn.ReLU(), *_convolution(width, width, 3, stride), nn.ReLU()]
            layers += _convolution(width, outputs, 1)
        else:
            outputs = width
            layers = [*_convolution(inputs, width, 3, stride), nn.ReLU(), *_convolution(width, width, 3)]
        self.residual = nn.Sequential(*layers)
        changes = stride != 1 or inputs != outputs
        self.shortcut = nn.Sequential(*_convolution(inputs, outputs, 1, stride)) if changes else nn.Identity()
        self.outputs = outputs

    def forward(self, features: Tensor) -> Tensor:
        """Features (n, outputs, H / stride, W / stride) of features (n, inputs, H, W)."""
        return F.relu(self.residual(features) + self.shortcut(features))


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs)]


class LargeResNet(nn.Module):
    """A stem, four stages of width 64 to 512, global average pooling, a linear layer.

    Args:
        channels: Channels of the images.
        num_classes: Number of logits.
        blocks: Number of blocks in each of the four stages.
        bottleneck: Kind of block, see ``Block``.
        small_images: Whether the stem is one 3x3 convolution that keeps the size, instead of 7x7 with stride 2 and
            max-pooling.
    """

    def __init__(
        self, channels: int, num_classes: int, blocks: tuple[int, ...], bottleneck: bool, small_images: bool
    ) -> None:
        super().__init__()
        if small_images:
            self.stem = nn.Sequential(*_convolution(channels, 64, 3), nn.ReLU())
        else:
            self.stem = nn.Sequential(*_convolution(channels, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1))
        layers, inputs = [], 64
        for stage, count in enumerate(blocks):
            for place in range(count):
                layers.append(Block(inputs, 64 * 2**stage, 2 if stage > 0 and place == 0 else 1, bottleneck))
                inputs = layers[-1].outputs
        self.blocks = nn.Sequential(*layers)
        self.classifier = nn.Linear(inputs, num_classes)
        he_normal(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (n, num_classes) of images (n, C, H, W)."""
        return self.classifier(self.blocks(self.stem(images)).mean((2, 3)))


def resnet10(input_shape: tuple[int, ...], num_classes: int, *, stem: Stem = "auto") -> nn.Module:
    """ResNet-10, one block of two 3x3 convolutions per stage (4.9 million parameters, 10 classes).

    Args:
        stem: "imagenet" (7x7 convolution and max-pooling, a quarter of the size), "small" (3x3 convolution, full size),
            or "auto", which is small for images of at most 64 x 64.
    """
    return _large_resnet("resnet10", input_shape, num_classes, stem, (1, 1, 1, 1), bottleneck=False)


def resnet34(input_shape: tuple[int, ...], num_classes: int, *, stem: Stem = "auto") -> nn.Module:
    """ResNet-34 (21.3 million parameters, 10 classes).

    Arguments and errors are those of ``resnet10``.
    """
    return _large_resnet("resnet34", input_shape, num_classes, stem, (3, 4, 6, 3), bottleneck=False)


def resnet50(input_shape: tuple[int, ...], num_classes: int, *, stem: Stem = "auto") -> nn.Module:
    """ResNet-50, with the stride in the 3x3 convolution of its bottlenecks (23.5 million parameters, 10 classes).

    Arguments and errors are those of ``resnet10``. The paper has the stride in the first 1x1 convolution; frameworks
    have it in the 3x3, as here.
    """
    return _large_resnet("resnet50", input_shape, num_classes, stem, (3, 4, 6, 3), bottleneck=True)


def _large_resnet(
    name: str, input_shape: tuple[int, ...], num_classes: int, stem: Stem, blocks: tuple[int, ...], bottleneck: bool
) -> nn.Module:
    small = stem == "small" or (stem == "auto" and max(input_shape[1:], default=0) <= LARGEST_SMALL_IMAGE)
    channels, _, _ = image_shape(name, input_shape, at_least=8 if small else 32)
    return LargeResNet(channels, num_classes, blocks, bottleneck, small)

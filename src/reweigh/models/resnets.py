"""Residual networks: thin ones for CIFAR, those for ImageNet, and those that activate before each convolution."""

from typing import Annotated, Literal

import torch.nn.functional as F
from annotated_types import Ge, Lt
from torch import Tensor, nn

from reweigh.models.cnn import he_normal, image_shape

Stem = Literal["auto", "small", "imagenet"]
Dropout = Annotated[float, Ge(0), Lt(1)]
LARGEST_SMALL_IMAGE = 64


class ResNet(nn.Module):
    """A stem, blocks, global average pooling, a linear layer."""

    def __init__(self, stem: list[nn.Module], blocks: list[nn.Module], width: int, num_classes: int) -> None:
        super().__init__()
        self.stem, self.blocks = nn.Sequential(*stem), nn.Sequential(*blocks)
        self.classifier = nn.Linear(width, num_classes)
        he_normal(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (n, num_classes) of images (n, C, H, W)."""
        return self.classifier(self.blocks(self.stem(images)).mean((2, 3)))


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs)]


class ThinBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut of option A: every second pixel, zeros in new channels."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            *_convolution(inputs, outputs, 3, stride), nn.ReLU(), *_convolution(outputs, outputs, 3)
        )
        self.stride = stride
        self.new_channels = outputs - inputs

    def forward(self, features: Tensor) -> Tensor:
        return F.relu(self.residual(features) + self._shortcut(features))

    def _shortcut(self, features: Tensor) -> Tensor:
        if self.stride == 1:
            return features
        before = self.new_channels // 2
        return F.pad(features[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, before, self.new_channels - before))


def resnet32(input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """ResNet-32 for CIFAR with shortcuts of option A (He et al. 2016, section 4.2; 0.46 million parameters).

    Examples:
        >>> import torch
        >>> resnet32((3, 32, 32), 10)(torch.randn(5, 3, 32, 32)).shape
        torch.Size([5, 10])
    """
    channels, _, _ = image_shape("resnet32", input_shape, at_least=8)
    blocks: list[nn.Module] = []
    inputs = 16
    for outputs in (16, 32, 64):
        blocks.append(ThinBlock(inputs, outputs, outputs // inputs))
        blocks += [ThinBlock(outputs, outputs, 1) for _ in range(4)]
        inputs = outputs
    return ResNet([*_convolution(channels, 16, 3), nn.ReLU()], blocks, inputs, num_classes)


class Block(nn.Module):
    """Convolutions with BatchNorm and ReLU between them, around a shortcut that is projected where the shape changes.

    Args:
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
        return F.relu(self.residual(features) + self.shortcut(features))


def resnet10(input_shape: tuple[int, ...], num_classes: int, *, stem: Stem = "auto") -> nn.Module:
    """ResNet-10, one block of two 3x3 convolutions per stage (4.9 million parameters, 10 classes).

    Args:
        stem: "imagenet" (7x7 convolution and max-pooling, a quarter of the size), "small" (3x3 convolution, full size),
            or "auto", which is small for images of at most 64 x 64.
    """
    return _large_resnet("resnet10", input_shape, num_classes, stem, (1, 1, 1, 1), bottleneck=False)


def resnet34(input_shape: tuple[int, ...], num_classes: int, *, stem: Stem = "auto") -> nn.Module:
    """ResNet-34 (21.3 million parameters, 10 classes); ``stem`` as for ``resnet10``."""
    return _large_resnet("resnet34", input_shape, num_classes, stem, (3, 4, 6, 3), bottleneck=False)


def resnet50(input_shape: tuple[int, ...], num_classes: int, *, stem: Stem = "auto") -> nn.Module:
    """ResNet-50, with the stride in the 3x3 convolution of its bottlenecks (23.5 million parameters, 10 classes).

    ``stem`` is as for ``resnet10``. The paper has the stride in the first 1x1 convolution; frameworks have it in the
    3x3, as here.
    """
    return _large_resnet("resnet50", input_shape, num_classes, stem, (3, 4, 6, 3), bottleneck=True)


def _large_resnet(
    name: str, input_shape: tuple[int, ...], num_classes: int, stem: Stem, counts: tuple[int, ...], bottleneck: bool
) -> nn.Module:
    small = stem == "small" or (stem == "auto" and max(input_shape[1:], default=0) <= LARGEST_SMALL_IMAGE)
    channels, _, _ = image_shape(name, input_shape, at_least=8 if small else 32)
    first = [*(_convolution(channels, 64, 3) if small else _convolution(channels, 64, 7, 2)), nn.ReLU()]
    blocks, inputs = [], 64
    for stage, count in enumerate(counts):
        for place in range(count):
            blocks.append(Block(inputs, 64 * 2**stage, 2 if stage > 0 and place == 0 else 1, bottleneck))
            inputs = blocks[-1].outputs
    return ResNet(first if small else [*first, nn.MaxPool2d(3, 2, padding=1)], blocks, inputs, num_classes)


class PreActBlock(nn.Module):
    """BatchNorm - ReLU - 3x3 convolution twice, with dropout between the convolutions.

    Where the shape changes, the shortcut is a 1x1 convolution of the activated input; elsewhere it is the input.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.dropout = nn.Dropout(dropout)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        changes = stride != 1 or inputs != outputs
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if changes else None

    def forward(self, features: Tensor) -> Tensor:
        active = F.relu(self.norm1(features))
        residual = self.conv2(self.dropout(F.relu(self.norm2(self.conv1(active)))))
        return residual + (features if self.shortcut is None else self.shortcut(active))


def preact_resnet18(input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """PreAct-ResNet-18 (He et al. 2016, "Identity Mappings") with a 3x3 stem; 11.2 million parameters.

    As in the paper, BatchNorm and ReLU follow the last block. The PyTorch version that is widely copied in work on
    label noise leaves them out and has 1024 parameters fewer.
    """
    return preact_resnet("preact-resnet18", input_shape, num_classes, 64, (64, 128, 256, 512), 2)


def wrn_28_2(input_shape: tuple[int, ...], num_classes: int, *, dropout: Dropout = 0.0) -> nn.Module:
    """WRN-28-2 (Zagoruyko and Komodakis 2016; 1.5 million parameters), usual for semi-supervised CIFAR-10.

    It has ReLU and torch's BatchNorm, as in the paper; FixMatch's code has leaky ReLU and slower statistics.

    Args:
        dropout: Share of features dropped between the two convolutions of a block.
    """
    return preact_resnet("wrn-28-2", input_shape, num_classes, 16, (32, 64, 128), 4, dropout)


def wrn_28_8(input_shape: tuple[int, ...], num_classes: int, *, dropout: Dropout = 0.0) -> nn.Module:
    """WRN-28-8 (23.4 million parameters), usual for semi-supervised CIFAR-100; ``dropout`` as for ``wrn_28_2``."""
    return preact_resnet("wrn-28-8", input_shape, num_classes, 16, (128, 256, 512), 4, dropout)


def preact_resnet(
    name: str,
    input_shape: tuple[int, ...],
    num_classes: int,
    stem: int,
    widths: tuple[int, ...],
    count: int,
    dropout: float = 0.0,
) -> nn.Module:
    """A network of ``count`` blocks in each stage, of these widths; ``stem`` are the channels before the first."""
    channels, _, _ = image_shape(name, input_shape, at_least=8)
    first = nn.Conv2d(channels, stem, 3, padding=1, bias=False)
    blocks: list[nn.Module] = []
    inputs = stem
    for stage, outputs in enumerate(widths):
        blocks.append(PreActBlock(inputs, outputs, 1 if stage == 0 else 2, dropout))
        blocks += [PreActBlock(outputs, outputs, 1, dropout) for _ in range(count - 1)]
        inputs = outputs
    return ResNet([first], [*blocks, nn.BatchNorm2d(inputs), nn.ReLU()], inputs, num_classes)

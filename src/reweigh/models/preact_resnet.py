"""Residual networks that activate before each convolution: PreAct-ResNet-18 and the wide residual networks."""

from typing import Annotated

import torch.nn.functional as F
from annotated_types import Ge, Lt
from torch import Tensor, nn

from reweigh.models.images import he_normal, image_shape

Dropout = Annotated[float, Ge(0), Lt(1)]


class Block(nn.Module):
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
        """Features (n, outputs, H / stride, W / stride) of features (n, inputs, H, W)."""
        active = F.relu(self.norm1(features))
        residual = self.conv2(self.dropout(F.relu(self.norm2(self.conv1(active)))))
        return residual + (features if self.shortcut is None else self.shortcut(active))


class PreActResNet(nn.Module):
    """A 3x3 convolution, stages that halve the image, BatchNorm - ReLU, global average pooling, a linear layer.

    Args:
        channels: Channels of the images.
        num_classes: Number of logits.
        stem: Channels of the first convolution.
        widths: Channels of each stage.
        blocks: Number of blocks in each stage.
        dropout: Share of features dropped inside each block.
    """

    def __init__(
        self, channels: int, num_classes: int, stem: int, widths: tuple[int, ...], blocks: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, stem, 3, padding=1, bias=False)
        layers, inputs = [], stem
        for stage, outputs in enumerate(widths):
            layers.append(Block(inputs, outputs, stride=1 if stage == 0 else 2, dropout=dropout))
            layers += [Block(outputs, outputs, stride=1, dropout=dropout) for _ in range(blocks - 1)]
            inputs = outputs
        self.blocks = nn.Sequential(*layers)
        self.norm = nn.BatchNorm2d(inputs)
        self.classifier = nn.Linear(inputs, num_classes)
        he_normal(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (n, num_classes) of images (n, C, H, W)."""
        features = F.relu(self.norm(self.blocks(self.conv(images))))
        return self.classifier(features.mean((2, 3)))


def preact_resnet18(input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """PreAct-ResNet-18 (He et al. 2016, "Identity Mappings") with a 3x3 stem; 11.2 million parameters.

    As in the paper, BatchNorm and ReLU follow the last block. The PyTorch version that is widely copied in work on
    label noise leaves them out and has 1024 parameters fewer.
    """
    channels, _, _ = image_shape("preact-resnet18", input_shape, at_least=8)
    return PreActResNet(channels, num_classes, stem=64, widths=(64, 128, 256, 512), blocks=2)


def wrn_28_2(input_shape: tuple[int, ...], num_classes: int, *, dropout: Dropout = 0.0) -> nn.Module:
    """WRN-28-2 (Zagoruyko and Komodakis 2016; 1.5 million parameters), usual for semi-supervised CIFAR-10.

    It has ReLU and torch's BatchNorm, as in the paper; FixMatch's code has leaky ReLU and slower statistics.

    Args:
        dropout: Share of features dropped between the two convolutions of a block.
    """
    channels, _, _ = image_shape("wrn-28-2", input_shape, at_least=8)
    return PreActResNet(channels, num_classes, stem=16, widths=(32, 64, 128), blocks=4, dropout=dropout)


def wrn_28_8(input_shape: tuple[int, ...], num_classes: int, *, dropout: Dropout = 0.0) -> nn.Module:
    """WRN-28-8 (23.4 million parameters), usual for semi-supervised CIFAR-100.

    Arguments and errors are those of ``wrn_28_2``.
    """
    channels, _, _ = image_shape("wrn-28-8", input_shape, at_least=8)
    return PreActResNet(channels, num_classes, stem=16, widths=(128, 256, 512), blocks=4, dropout=dropout)

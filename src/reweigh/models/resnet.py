"""The residual network of He et al. (2016) for CIFAR: thin, deep, shortcuts without parameters."""

import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.models.images import he_normal, image_shape


class Block(nn.Module):
    """Two 3x3 convolutions around a shortcut of option A: every second pixel, zeros in new channels."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.stride = stride
        self.new_channels = outputs - inputs

    def forward(self, features: Tensor) -> Tensor:
        """Features (n, outputs, H / stride, W / stride) of features (n, inputs, H, W)."""
        residual = F.relu(self.norm1(self.conv1(features)))
        return F.relu(self.norm2(self.conv2(residual)) + self._shortcut(features))

    def _shortcut(self, features: Tensor) -> Tensor:
        if self.stride == 1:
            return features
        before = self.new_channels // 2
        return F.pad(features[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, before, self.new_channels - before))


class ThinResNet(nn.Module):
    """A 3x3 convolution, three stages of 16, 32 and 64 channels, global average pooling, a linear layer.

    Depth is 6 * blocks + 2. Paper: "Deep Residual Learning for Image Recognition", section 4.2.
    """

    def __init__(self, channels: int, num_classes: int, blocks: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.stages = nn.Sequential(
            _stage(16, 16, stride=1, blocks=blocks),
            _stage(16, 32, stride=2, blocks=blocks),
            _stage(32, 64, stride=2, blocks=blocks),
        )
        self.classifier = nn.Linear(64, num_classes)
        he_normal(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (n, num_classes) of images (n, C, H, W)."""
        features = self.stages(F.relu(self.norm(self.conv(images))))
        return self.classifier(features.mean((2, 3)))


def _stage(inputs: int, outputs: int, stride: int, blocks: int) -> nn.Sequential:
    return nn.Sequential(Block(inputs, outputs, stride), *(Block(outputs, outputs, 1) for _ in range(blocks - 1)))


def resnet32(input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """ResNet-32 for CIFAR with shortcuts of option A (0.46 million parameters).

    Examples:
        >>> import torch
        >>> resnet32((3, 32, 32), 10)(torch.randn(5, 3, 32, 32)).shape
        torch.Size([5, 10])
    """
    channels, _, _ = image_shape("resnet32", input_shape, at_least=8)
    return ThinResNet(channels, num_classes, blocks=5)

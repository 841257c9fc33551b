"""A small convolutional network that trains in minutes on a CPU, and what all networks for images share."""

from typing import Annotated

from annotated_types import Gt
from torch import Tensor, nn

from reweigh.errors import ModelError


class SmallCNN(nn.Module):
    """Five 3x3 convolutions, three of them with stride 2, global average pooling, and a linear layer.

    With fewer strides, the receptive field would be too small, and the pooling would lose the positions of features.
    """

    def __init__(self, channels: int, num_classes: int, width: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *_convolution(channels, width, stride=1),
            *_convolution(width, 2 * width, stride=2),
            *_convolution(2 * width, 4 * width, stride=2),
            *_convolution(4 * width, 4 * width, stride=2),
            *_convolution(4 * width, 4 * width, stride=1),
        )
        self.classifier = nn.Linear(4 * width, num_classes)
        he_normal(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (n, num_classes) of images (n, C, H, W)."""
        return self.classifier(self.features(images).mean((2, 3)))


def _convolution(inputs: int, outputs: int, stride: int) -> tuple[nn.Module, ...]:
    return nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()


def cnn(input_shape: tuple[int, ...], num_classes: int, *, width: Annotated[int, Gt(0)] = 16) -> nn.Module:
    """A small network for images of about 8 to 64 pixels (0.1 million parameters).

    Examples:
        >>> import torch
        >>> cnn((3, 32, 32), 10)(torch.randn(5, 3, 32, 32)).shape
        torch.Size([5, 10])

    Args:
        width: Channels of the first layer; the last layers have four times as many.
    """
    channels, _, _ = image_shape("cnn", input_shape, at_least=4)
    return SmallCNN(channels, num_classes, width)


def image_shape(model: str, input_shape: tuple[int, ...], at_least: int) -> tuple[int, int, int]:
    """Channels, height and width of an image model's input."""
    shape = tuple(input_shape)
    if len(shape) != 3 or min(shape) < 1:
        raise ModelError(
            f"model {model!r} needs images of shape (channels, height, width), but one sample has shape {shape}; "
            "give images, or use 'mlp', which takes any shape."
        )
    channels, height, width = shape
    if min(height, width) < at_least:
        raise ModelError(
            f"model {model!r} needs images of at least {at_least} x {at_least}, but got {height} x {width}; "
            "resize the images, or use 'cnn' or 'mlp'."
        )
    return channels, height, width


def he_normal(model: nn.Module) -> None:
    """Draw each convolution from N(0, 2 / fan_out), so that ReLUs preserve the scale of gradients (He et al. 2015).

    Changes the model in place, with torch's global generator. Other layers keep torch's initialization.
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)

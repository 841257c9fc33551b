"""VGG networks (Simonyan and Zisserman 2015): with BatchNorm, and as the bilinear CNN for fine-grained classes."""

from typing import Annotated, Literal

import torch.nn.functional as F
from annotated_types import Ge, Lt
from torch import Tensor, nn

from reweigh.models.cnn import he_normal, image_shape

Head = Literal["auto", "small", "imagenet"]
Dropout = Annotated[float, Ge(0), Lt(1)]

WIDTHS = (64, 128, 256, 512, 512)
VGG16, VGG19 = (2, 2, 3, 3, 3), (2, 2, 4, 4, 4)  # convolutions of each width
EPS_ROOT = 1e-5  # under the root, whose slope is infinite at zero
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
    return _vgg("vgg16-bn", input_shape, num_classes, VGG16, head, dropout, first_dropout, conv_dropout)


def vgg19_bn(
    input_shape: tuple[int, ...], num_classes: int, *, head: Head = "auto", dropout: Dropout = 0.5
) -> nn.Module:
    """VGG-19 with BatchNorm, and dropout in its head only; arguments as for ``vgg16_bn``."""
    return _vgg("vgg19-bn", input_shape, num_classes, VGG19, head, dropout, 0.0, 0.0)


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
        inputs = channels * (height // 32) * (width // 32)
        layers += [nn.Flatten(), nn.Dropout(dropout), nn.Linear(inputs, 512), nn.BatchNorm1d(512), nn.ReLU()]
        layers += [nn.Dropout(dropout), nn.Linear(512, num_classes)]
    else:
        layers += [nn.AdaptiveAvgPool2d(7), nn.Flatten(), nn.Linear(channels * 7 * 7, 4096), nn.ReLU()]
        layers += [nn.Dropout(dropout), nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(dropout)]
        layers += [nn.Linear(4096, num_classes)]
    model = nn.Sequential(*layers)
    he_normal(model)
    return model


class Bilinear(nn.Module):
    """Features of a network, the mean over positions of their outer product, and one linear layer.

    Attributes:
        features: The convolutions of VGG-16, without BatchNorm and without the last pooling. Their names are those of
            torchvision, so that ``model.start`` takes its pretrained weights, stored as safetensors.
    """

    def __init__(self, channels: int, num_classes: int):
        super().__init__()
        layers: list[nn.Module] = []
        for width, count in zip(WIDTHS, VGG16, strict=True):
            for _ in range(count):
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
                channels = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers[:-1])
        self.classifier = nn.Linear(channels**2, num_classes)
        he_normal(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits, shape (n, num_classes)."""
        places = self.features(images).flatten(2)
        together = (places @ places.mT / places.shape[2]).flatten(1)
        return self.classifier(F.normalize((together + EPS_ROOT).sqrt()))


def bilinear_vgg16(input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """The bilinear CNN on VGG-16, for fine-grained classes; published with ImageNet's weights and images of 448 x 448.

    Lin, RoyChowdhury, Maji: Bilinear CNN Models for Fine-grained Visual Recognition.
    """
    channels, _, _ = image_shape("bilinear-vgg16", input_shape, at_least=16)
    return Bilinear(channels, num_classes)

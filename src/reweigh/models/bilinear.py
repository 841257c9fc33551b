"""The bilinear CNN (Lin et al., ICCV 2015): which features occur together at a position; for fine-grained classes."""

import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.models.images import he_normal, image_shape

WIDTHS = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
LEAST = 1e-5  # under the root, whose slope is infinite at zero


class Bilinear(nn.Module):
    """Features of a network, the mean over positions of their outer product, and one linear layer.

    Attributes:
        features: The convolutions of VGG-16, without BatchNorm and without the last pooling. Their names are those of
            torchvision, so that ``model.start`` takes its pretrained weights, stored as safetensors.
    """

    def __init__(self, channels: int, num_classes: int):
        super().__init__()
        layers: list[nn.Module] = []
        for widths in WIDTHS:
            for width in widths:
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
        return self.classifier(F.normalize((together + LEAST).sqrt()))


def bilinear_vgg16(input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """The bilinear CNN on VGG-16, for fine-grained classes; published with ImageNet's weights and images of 448 x 448.

    Lin, RoyChowdhury, Maji: Bilinear CNN Models for Fine-grained Visual Recognition.
    """
    channels, _, _ = image_shape("bilinear-vgg16", input_shape, at_least=16)
    return Bilinear(channels, num_classes)

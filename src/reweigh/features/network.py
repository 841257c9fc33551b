"""A frozen network that turns images into features: its input size and normalization, and what identifies it."""

import hashlib
import inspect
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from annotated_types import Ge
from torch import Tensor, nn

from reweigh.data.inputs import as_float, is_image
from reweigh.errors import DataError, ModelError
from reweigh.files.row_cache import digest
from reweigh.models.efficientnet_lite import MEAN, SIZE, STD, WIDTH, fused, imagenet

Resize = Literal["crop", "pad"]
PIXELS_AT_ONCE = (
    150_000  # that pass the network at once on a CPU: more do not fit into its cache, which costs half of the speed
)
PREPARATION_VERSION = 2  # version of how images are resized; another one has another cache
MAX_ROUNDING = 0.01  # what floats may lie outside [0, 1]


@dataclass(frozen=True)
class Network:
    """A frozen network.

    Attributes:
        module: Normalized images (n, 3, size, size) to features (n, width), in evaluation mode.
        size: Side in pixels that images are resized to; None takes them as they are.
        mean: What is subtracted from pixels in [0, 1], one number per channel; empty for nothing.
        resize: "crop" resizes the short side and crops the middle, as such networks are trained; "pad" resizes the long
            side and adds gray.
    """

    name: str
    module: nn.Module
    width: int
    size: int | None = None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    resize: Resize = "crop"

    def rows(self, images: Tensor, device: torch.device | str) -> Tensor:
        """The features of raw images, on a CPU a few at a time; the module is on the device."""
        together = len(images)
        if torch.device(device).type == "cpu":
            pixels = torch.Size(images.shape[2:]).numel() if self.size is None else self.size**2
            together = max(1, PIXELS_AT_ONCE // max(1, pixels))
        return torch.cat([self(part.to(device)) for part in images.split(together)])

    def __call__(self, images: Tensor) -> Tensor:
        """The features, shape (n, width), of raw images (n, 1 or 3, height, width): bytes, or floats in [0, 1]."""
        return self.module(self.prepare(images))

    def prepare(self, images: Tensor) -> Tensor:
        """Raw images as the network takes them."""
        if images.is_floating_point() and not bool(((images >= -MAX_ROUNDING) & (images <= 1 + MAX_ROUNDING)).all()):
            raise DataError(
                f"features: images are floats from {float(images.min()):.3g} to {float(images.max()):.3g}, but "
                f"{self.name} was trained on pixels from 0 to 1; pass bytes (uint8), or divide by the largest value"
            )
        if self.size is not None and images.shape[2:] != (self.size, self.size):
            if images.is_floating_point():  # as bytes, which are resized quicker, and the same image the same way
                images = images.mul(255).round_().clamp_(0, 255).byte()
            images = resized(images, self.size, self.resize)
        pixels = as_float(images)
        if pixels.shape[1] == 1 and self.mean:
            pixels = pixels.expand(-1, 3, -1, -1)
        if self.mean:
            mean, std = (
                torch.tensor(values, device=pixels.device).view(1, -1, 1, 1) for values in (self.mean, self.std)
            )
            pixels = pixels.sub(mean).div_(std)
        return pixels.contiguous(memory_format=torch.channels_last) if pixels.ndim == 4 else pixels

    def key(self) -> str:
        """A name that changes with anything that the features depend on: architecture, weights, size, normalization."""
        about = repr((PREPARATION_VERSION, self.size, self.mean, self.std, self.resize))
        name = self.name if self.size is None else f"{self.name}-{self.size}"
        return key_of(name, self.module, about)


def key_of(name: str, module: nn.Module, about: str) -> str:
    """A name that changes with the architecture and the weights of a module, and with what else is said about it."""
    found = hashlib.blake2b(digest_size=6)
    code = ""  # of the module's own class, so that another forward has another cache
    with suppress(OSError, TypeError):
        code = inspect.getsource(type(module))
    for text in (repr(module), code, about):
        found.update(text.encode())
    for part, tensor in module.state_dict().items():
        if isinstance(tensor, Tensor):
            found.update(part.encode())
            found.update(digest(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data))
    return f"{name.replace(':', '-').replace('/', '-')}-{found.hexdigest()}"


def resized(images: Tensor, size: int, how: Resize) -> Tensor:
    """Square images with their proportions kept, by Pillow's bicubic filter, which such networks were trained with."""
    if images.device.type != "cpu":  # bytes are resized on the CPU alone
        images = as_float(images)
    height, width = images.shape[2:]
    side = min(height, width) if how == "crop" else max(height, width)
    top, gray = (1, 0.5) if images.is_floating_point() else (255, 128)
    if side != size:
        shape = [max(1, round(length * size / side)) for length in (height, width)]
        images = images.contiguous(memory_format=torch.channels_last)  # many times quicker for bytes
        images = F.interpolate(images, size=shape, mode="bicubic", align_corners=False, antialias=True).clamp(0, top)
        height, width = images.shape[2:]
    if height == width == size:
        return images
    if how == "crop":
        above, before = (height - size) // 2, (width - size) // 2
        return images[:, :, above : above + size, before : before + size]
    above, before = (size - height) // 2, (size - width) // 2
    return F.pad(images, (before, size - width - before, above, size - height - above), value=gray)


def probed(network: Network, shape: tuple[int, ...]) -> int:
    """The number of features that a network gives, tried on two samples of zeros."""
    try:
        with torch.inference_mode():
            rows = network(torch.zeros(2, *shape))
    except Exception as error:
        raise ModelError(
            f"features {network.name!r}: cannot take samples of shape {shape}: {type(error).__name__}: {error}"
        ) from error
    got = tuple(rows.shape) if isinstance(rows, Tensor) else type(rows).__name__
    if not isinstance(rows, Tensor) or rows.ndim != 2 or len(rows) != 2 or not rows.is_floating_point():
        raise ModelError(
            f"features {network.name!r}: returns {got} for two samples; it must return one row of floats for each, "
            "shape (2, number of features)"
        )
    return rows.shape[1]


def check_images(name: str, shape: tuple[int, ...]) -> None:
    """Refuse samples that are not images in gray or color."""
    if not is_image(shape) or shape[0] not in (1, 3):
        got = f"one sample has the shape {shape}" if shape else "the samples are rows of a table with text"
        raise DataError(
            f"features {name!r}: needs images with 1 or 3 channels, but {got}; leave features out, or set features=none"
        )


MIN_SIDE = 96  # pixels
MAX_ENLARGEMENT = 3  # times that small images are enlarged; more costs time and gains nothing
STRIDE = 32


def efficientnet_lite0(
    input_shape: tuple[int, ...], *, size: Annotated[int, Ge(32)] | None = None, resize: Resize = "crop"
) -> Network:
    """EfficientNet-Lite0 trained on ImageNet, 1,280 features; works offline, needs the extra ``pretrained``.

    Args:
        size: Side in pixels that images are resized to; by default 224, and for small images three times their side.
        resize: Whether to crop what is not square, or to pad it.
    """
    check_images("efficientnet-lite0", input_shape)
    usual = STRIDE * ceil(MAX_ENLARGEMENT * min(input_shape[1:]) / STRIDE)
    side = size or min(SIZE, max(MIN_SIDE, usual))
    network = imagenet()
    network.classifier = nn.Identity()
    module = fused(network)
    module.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] (torch does not declare it)
    return Network("efficientnet-lite0", module, WIDTH, side, (MEAN,) * 3, (STD,) * 3, resize)

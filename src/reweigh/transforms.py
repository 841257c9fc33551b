"""Random augmentations of whole batches of images; each takes a float batch and a generator."""

from collections.abc import Callable, Sequence
from math import log, pi
from typing import Annotated, Literal, Protocol

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor

from reweigh.errors import DataError, RecipeError


class Transform(Protocol):
    """A transform of a whole batch of images; the same state of the generator gives the same result."""

    def __call__(self, batch: Tensor, generator: torch.Generator, /) -> Tensor:
        """New float images (n, C, H, W) for float images (n, C, H, W), which are not changed.

        Raises:
            DataError: The batch does not hold images.
        """
        ...


class Compose:
    """Apply transforms in sequence; without transforms, return the batch itself."""

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = tuple(transforms)

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        for transform in self.transforms:
            batch = transform(batch, generator)
        return batch


def check_images(transform: str, batch: Tensor) -> None:
    """Check that a batch is floats of shape (n, C, H, W).

    Args:
        transform: Name of the transform in messages.

    Raises:
        DataError: The batch has another number of dimensions, or holds integers.
    """
    if batch.ndim != 4:
        raise DataError(
            f"transform {transform!r} needs images of shape (n, channels, height, width), but the batch has shape "
            f"{tuple(batch.shape)}; leave the transform out for data that are not images."
        )
    if not batch.is_floating_point():
        raise DataError(
            f"transform {transform!r} needs floats, but the batch holds {batch.dtype}; divide bytes by 255 first."
        )


class PadCrop:
    """Random crop of the padded image to its original size.

    Examples:
        >>> images = torch.rand(8, 3, 32, 32)
        >>> PadCrop(padding=4)(images, torch.Generator().manual_seed(0)).shape
        torch.Size([8, 3, 32, 32])

    Args:
        padding: Pixels added on each side, which is the largest shift.
        mode: "reflect" mirrors the border, as in most runs of CMW-Net; "zero" adds black, as in those with
            feature-dependent noise.
    """

    def __init__(self, *, padding: Annotated[int, Ge(0)] = 4, mode: Literal["reflect", "zero"] = "reflect") -> None:
        self.padding = padding
        self.mode = "constant" if mode == "zero" else mode

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """The shifted images. Draws the distances from the top, then from the left, of all images.

        Raises:
            DataError: The batch does not hold images, or images are too small for the padding.
        """
        check_images("pad-crop", batch)
        n, _, height, width = batch.shape
        if self.mode == "reflect" and self.padding >= min(height, width):
            raise DataError(
                f"transform 'pad-crop' cannot mirror {self.padding} pixels of images of {height} x {width}; "
                f"use a padding below {min(height, width)}, or mode 'zero'."
            )
        draws = torch.randint(0, 2 * self.padding + 1, (2, n), generator=generator, device=generator.device)
        top, left = draws.to(batch.device)
        padded = F.pad(batch, (self.padding,) * 4, mode=self.mode)
        return _crop(padded, top, left, height, width)


def _crop(padded: Tensor, top: Tensor, left: Tensor, height: int, width: int) -> Tensor:
    """``padded[i, :, top[i] : top[i] + height, left[i] : left[i] + width]`` for every i, stacked.

    Each row of a crop is a run of neighbors in memory, so the crops are rows of a view of all such runs.
    """
    n, channels, rows, columns = padded.shape
    planes = torch.arange(n * channels, device=padded.device).view(n, channels, 1) * (rows * columns)
    corners = (top * columns + left).view(n, 1, 1)
    starts = planes + corners + torch.arange(height, device=padded.device) * columns
    runs = padded.flatten().unfold(0, width, 1)
    return runs.index_select(0, starts.flatten()).view(n, channels, height, width)


class Flip:
    """Horizontal flip, drawn for each image; not for digits and letters.

    Examples:
        >>> image = torch.arange(4.0).view(1, 1, 2, 2)
        >>> Flip(probability=1.0)(image, torch.Generator())
        tensor([[[[1., 0.],
                  [3., 2.]]]])

    Args:
        probability: Probability of a flip.
    """

    def __init__(self, *, probability: Annotated[float, Ge(0), Le(1)] = 0.5) -> None:
        self.probability = probability

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """The images, some of them mirrored. Draws one uniform number per image; below the probability, it flips."""
        check_images("flip", batch)
        draws = torch.rand(len(batch), generator=generator, device=generator.device)
        chosen = (draws < self.probability).nonzero().squeeze(1).to(batch.device)
        return batch.index_copy(0, chosen, batch.index_select(0, chosen).flip(3))


class Cutout:
    """A square around a random pixel is set to one value; parts beyond the border are cut off.

    Examples:
        >>> blanked = Cutout(size=16, fill=0.5)(torch.zeros(1, 1, 32, 32), torch.Generator().manual_seed(0))
        >>> int((blanked == 0.5).sum())  # at most 16 x 16
        256

    Args:
        size: Side of the square in pixels; the paper uses 16 for CIFAR-10 and 8 for CIFAR-100.
        fill: Value of the square. The paper uses the mean, which is near 0.5 for images in [0, 1] that are normalized
            later, and 0 for images that are normalized already.
    """

    def __init__(self, *, size: Annotated[int, Gt(0)] = 16, fill: float = 0.5) -> None:
        self.size = size
        self.fill = fill

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """The images, each with one square blanked out. Draws the rows, then the columns, of all centers."""
        check_images("cutout", batch)
        n, _, height, width = batch.shape
        rows = self._covered(n, height, generator).to(batch.device)
        columns = self._covered(n, width, generator).to(batch.device)
        return batch.masked_fill(rows.view(n, 1, height, 1) & columns.view(n, 1, 1, width), self.fill)

    def _covered(self, n: int, length: int, generator: torch.Generator) -> Tensor:
        """Which rows or columns the square of each image covers, shape (n, length)."""
        center = torch.randint(0, length, (n, 1), generator=generator, device=generator.device)
        offset = torch.arange(length, device=generator.device) - (center - self.size // 2)
        return (offset >= 0) & (offset < self.size)


MAX_STRETCH = 4 / 3  # largest change of the aspect ratio (Szegedy et al. 2015)
P_JITTER, P_GRAY = 0.8, 0.2  # probabilities, as in SimCLR (Chen et al., ICML 2020)
LUMA = (0.299, 0.587, 0.114)
CHROMA = ((0.596, -0.274, -0.322), (0.211, -0.523, 0.312))  # the I and Q of YIQ; hue is the angle between them
MAX_ROUNDING = 1e-3  # how far images may be outside [0, 1]


class ResizedCrop:
    """Random resized crop, bilinear: objects are magnified, shifted and slightly stretched.

    Examples:
        >>> ResizedCrop()(torch.rand(8, 3, 32, 32), torch.Generator().manual_seed(0)).shape
        torch.Size([8, 3, 32, 32])

    Args:
        smallest: Smallest share of the image's area that a part covers; SimCLR uses 0.08.
    """

    def __init__(self, *, smallest: Annotated[float, Gt(0), Le(1)] = 0.08) -> None:
        self.smallest = smallest

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """The enlarged parts. Draws areas, aspect ratios, vertical and horizontal positions of all images."""
        check_images("resized-crop", batch)
        draws = torch.rand(4, len(batch), generator=generator, device=generator.device).to(batch)
        area = self.smallest + (1 - self.smallest) * draws[0]
        most = (-area.log()).clamp(max=log(MAX_STRETCH))  # beyond this, a large part would not fit in the image
        stretch = torch.exp((2 * draws[1] - 1) * most)
        height, width = (area / stretch).sqrt(), (area * stretch).sqrt()
        # in a grid the image spans -1 to 1, and a part of length s moves by at most 1 - s to each side
        below, right = (1 - height) * (2 * draws[2] - 1), (1 - width) * (2 * draws[3] - 1)
        none = torch.zeros_like(area)
        rows = [torch.stack([width, none, right], 1), torch.stack([none, height, below], 1)]
        grid = F.affine_grid(torch.stack(rows, 1), list(batch.shape), align_corners=False)
        return F.grid_sample(batch, grid, mode="bilinear", padding_mode="border", align_corners=False)


class ColorDistortion:
    """Brightness, contrast, saturation and hue of each image are changed at random; some images turn gray.

    All of this is one linear map of the colors of an image and one shift, so that a batch costs a single product. Hue
    rotates around the gray axis (YIQ), which for small angles agrees with a rotation in HSV. Nothing is clipped. Images
    with one channel change in brightness and contrast only.

    Examples:
        >>> ColorDistortion()(torch.rand(8, 3, 32, 32), torch.Generator().manual_seed(0)).shape
        torch.Size([8, 3, 32, 32])

    Args:
        strength: Strength of the distortion: brightness, contrast and saturation change by a factor between 1 - 0.8 s
            and 1 + 0.8 s, hue by at most 0.2 s of a full turn. Paper: s.
    """

    def __init__(self, *, strength: Annotated[float, Ge(0), Le(1)] = 0.5) -> None:
        self.strength = strength

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """The distorted images. Draws which to jitter, which to gray, then brightness, contrast, saturation, hue."""
        check_images("color-distortion", batch)
        n, channels = batch.shape[:2]
        draws = torch.rand(6, n, generator=generator, device=generator.device).to(batch)
        jittered, gray = draws[0] < P_JITTER, draws[1] < P_GRAY
        change = (2 * draws[2:] - 1) * self.strength * jittered
        brightness, contrast, saturation = 1 + 0.8 * change[:3]
        saturation = torch.where(gray, 0, saturation)
        luma = batch.new_tensor(LUMA if channels == 3 else [1 / channels] * channels)
        colors = torch.lerp(luma.expand(channels, channels), torch.eye(channels).to(batch), saturation.view(n, 1, 1))
        if channels == 3:
            colors = _turn(0.2 * change[3]) @ colors
        mean = torch.einsum("c,nchw->n", luma, batch) / (batch.shape[2] * batch.shape[3])
        pixels = (brightness * contrast).view(n, 1, 1) * colors @ batch.flatten(2)
        return pixels.add_((brightness * (1 - contrast) * mean).view(n, 1, 1)).view(batch.shape)


def _turn(hue: Tensor) -> Tensor:
    """The maps of RGB that rotate the hue by fractions of a full turn, shape (n, 3, 3)."""
    to_yiq = hue.new_tensor([LUMA, *CHROMA])
    angle = -2 * pi * hue  # from red to green to blue, as in HSV
    turn = torch.eye(3).to(hue).repeat(len(hue), 1, 1)
    turn[:, 1, 1] = turn[:, 2, 2] = angle.cos()
    turn[:, 2, 1] = angle.sin()
    turn[:, 1, 2] = -angle.sin()
    return torch.linalg.inv(to_yiq) @ turn @ to_yiq


class RandAugment:
    """Apply some operations of kornia's list, drawn for each image, all with the same magnitude.

    kornia itself draws the operations once per batch, which would invert or rotate all images together; here each
    operation gets the images that drew it. kornia uses torch's global generator, which is seeded from the given one
    during the call and restored afterwards.

    Examples:
        >>> RandAugment(operations=2)(torch.rand(4, 3, 16, 16), torch.Generator().manual_seed(0)).shape  # needs kornia
        torch.Size([4, 3, 16, 16])

    Args:
        operations: Number of operations per image. Paper: N.
        magnitude: Strength of the operations, between 0 and 30. Paper: M.

    Raises:
        RecipeError: Kornia is not installed.
    """

    def __init__(self, *, operations: Annotated[int, Gt(0)] = 2, magnitude: Annotated[int, Gt(0), Lt(30)] = 10) -> None:
        try:
            from kornia.augmentation.auto.rand_augment.rand_augment import RandAugment as OfBatch
            from kornia.augmentation.auto.rand_augment.rand_augment import default_policy
        except (ImportError, RuntimeError) as error:
            raise RecipeError(
                f"transform 'rand-augment' needs kornia, which cannot be imported ({error}); pip install reweigh[image]"
            ) from error
        self.operations = operations
        self._table = [OfBatch(n=1, m=magnitude, policy=[entry]) for entry in default_policy]

    @torch.no_grad()
    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """The distorted images, for images in [0, 1]. Draws the operations of all images, then a seed for kornia.

        Raises:
            DataError: The batch does not hold images, or they do not have 1 or 3 channels, or are not in [0, 1].
        """
        check_images("rand-augment", batch)
        channels = batch.shape[1]
        if channels not in (1, 3):
            raise DataError(f"transform 'rand-augment' needs images of 1 or 3 channels, but these have {channels}.")
        if len(batch) and not (batch.min() > -MAX_ROUNDING and batch.max() < 1 + MAX_ROUNDING):
            raise DataError(
                f"transform 'rand-augment' needs images in [0, 1], but these are in [{batch.min():.3g}, "
                f"{batch.max():.3g}]; store them as bytes, or scale them first."
            )
        shape = (self.operations, len(batch))
        chosen = torch.randint(0, len(self._table), shape, generator=generator, device=generator.device).cpu()
        seed = int(torch.randint(0, 2**62, (), generator=generator, device=generator.device))
        result = batch.expand(-1, 3, -1, -1)  # some operations need colors, and keep gray gray
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            for drawn in chosen:
                result = self._apply(result, drawn)
        return result[:, :channels].contiguous()

    def _apply(self, batch: Tensor, drawn: Tensor) -> Tensor:
        """The images, each after the operation whose number is in ``drawn``, shape (n,)."""
        result = torch.empty_like(batch, memory_format=torch.contiguous_format)
        for number in drawn.unique().tolist():
            images = (drawn == number).nonzero().squeeze(1).to(batch.device)
            result[images] = self._table[number](batch[images]).to(batch.dtype)
        return result


def strong(shape: Sequence[int], magnitude: int) -> Compose:
    """RandAugment, then Cutout of half the side, as in FixMatch and UDA, for images of this shape.

    FixMatch draws the magnitude of each distortion; here it is fixed.
    """
    return Compose([RandAugment(magnitude=magnitude), Cutout(size=max(min(shape[1:]) // 2, 1))])


TRANSFORMS: dict[str, Callable[..., Transform]] = {
    "pad-crop": PadCrop,
    "flip": Flip,
    "cutout": Cutout,
    "resized-crop": ResizedCrop,
    "color-distortion": ColorDistortion,
    "rand-augment": RandAugment,
}

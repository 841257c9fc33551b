"""One image, in a file of its own or packed into another, as a tensor of bytes, with Pillow."""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from mmap import mmap
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import Tensor

from reweigh.errors import DataError
from reweigh.files.limits import LIMITS, check_amount, check_file, limit, variable

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image as PillowImage
    from PIL.ImageFile import ImageFile


@dataclass(frozen=True, eq=False)
class Packed:
    """A file inside another, with the attributes of a path that image readers use."""

    name: str
    archive: Path
    data: mmap
    start: int
    size: int

    def __str__(self) -> str:
        return f"{self.archive}:{self.name}"

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> PurePosixPath:
        return PurePosixPath(self.name).parent

    def read_bytes(self) -> bytes:
        return self.data[self.start : self.start + self.size]


File = Path | Packed


Resize = Literal["crop", "pad", "stretch"]
"""How an image gets other proportions: the middle is cropped, gray is added, or it is stretched."""

GRAY_MODES = ("1", "L", "LA", "I", "I;16", "I;16B", "I;16L", "F")  # Pillow's names for images without color
MAX_BYTES_AT_ONCE = 1 << 24  # bytes of a file that is read at once
PHONE_SUFFIXES = (".heic", ".heif")  # what phones store by default, and Pillow cannot read
ORIENTATION = 0x0112  # the EXIF tag
# Of what Pillow can open: EPS would start another program, and others unpack without a limit or are not pixels.
# They are tried in this order.
FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "BMP", "DIB", "GIF", "JPEG2000", "PCX", "PPM", "QOI", "SGI", "TGA", "TIFF")


class Header(NamedTuple):
    """What is known of an image file before its pixels are decoded."""

    height: int
    width: int
    gray: bool


def check_pillow() -> None:
    """Raise a DataError with the remedy if Pillow is not installed."""
    if find_spec("PIL") is None:
        raise DataError("reading images needs Pillow; install it: pip install 'reweigh[image]'")


def header(path: File) -> Header:
    """Size of an image, and whether it is gray."""
    with image_errors(path):
        if isinstance(path, Path):
            if path.suffix.lower() in PHONE_SUFFIXES:
                raise ValueError("HEIC is not supported, convert it to JPEG")
            if path.suffix.lower() not in suffixes():
                raise ValueError("not an image file by its extension")
            check_file(path)
        with open_image(path) as image:
            turned = may_be_turned(image) and image.getexif().get(ORIENTATION, 1) >= 5  # stored on its side
            size = (image.width, image.height) if turned else (image.height, image.width)
            return Header(*size, image.mode in GRAY_MODES)


def decode(path: File, size: tuple[int, int], channels: int, resize: Resize = "crop") -> Tensor:
    """The pixels, shape (channels, height, width), resized to ``size`` (height, width) if needed."""
    from PIL import Image, ImageOps

    with image_errors(path), open_image(path, content(path)) as image:
        if min(image.size) >= 8 * max(size):  # a JPEG that is much larger is not decoded in full
            image.draft(None, (4 * max(size), 4 * max(size)))
        image.load()
        if may_be_turned(image):
            ImageOps.exif_transpose(image, in_place=True)
        if image.mode.startswith("I") or image.mode == "F":  # more than 8 bits per pixel: Pillow would clip at 255
            image = Image.fromarray(as_bytes(image))
        if image.has_transparency_data:  # transparent parts become white
            white = Image.new("RGBA", image.size, "white")
            image = Image.alpha_composite(white, image.convert("RGBA"))
        mode = "L" if channels == 1 else "RGB"
        image = image if image.mode == mode else image.convert(mode)
        if (image.height, image.width) != size:
            image = resized(image, size, resize)
        pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
        return pixels.view(*size, channels).permute(2, 0, 1)


def may_be_turned(image: "PillowImage") -> bool:
    """Whether to look for the tag that turns an image; of a PNG, Pillow would decode all pixels to find out."""
    return image.format not in ("JPEG", "PNG") or "exif" in image.info or "xmp" in image.info


def resized(image: "PillowImage", size: tuple[int, int], how: Resize) -> "PillowImage":
    """An image of this height and width."""
    from PIL import Image, ImageOps

    wanted = (size[1], size[0])
    if how == "pad":
        return ImageOps.pad(image, wanted, Image.Resampling.BILINEAR, "gray")
    if how == "crop":
        return ImageOps.fit(image, wanted, Image.Resampling.BILINEAR)
    return image.resize(wanted, Image.Resampling.BILINEAR)


def as_bytes(image: "PillowImage") -> "np.ndarray":
    """Gray values as bytes; the largest tells their range: up to 1, up to 255, or 16 bits."""
    import numpy as np

    values = np.asarray(image, dtype=np.float64)
    top = values.max(initial=0)
    scale = 255.0 if 0 < top <= 1 else 1.0 if top <= 255 else 1 / 256
    return (values * scale).clip(0, 255).astype(np.uint8)


def content(path: File) -> bytes | None:
    """The content of a file at once, which is faster than in the pieces that Pillow asks for; None if it is large."""
    if not isinstance(path, Path):
        return path.read_bytes()
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))  # takes half as long as a file object
    try:
        size = os.fstat(file).st_size
        found = os.read(file, size) if size <= MAX_BYTES_AT_ONCE else b""
    finally:
        os.close(file)
    return found if len(found) == size else None


@contextmanager
def open_image(path: File, known: bytes | None = None) -> Iterator["ImageFile"]:
    """An image file, not yet decoded, until the end of the block."""
    from PIL import Image

    if limit("pixels") != LIMITS["pixels"].most:  # set by the user, so Pillow's own limit does not apply
        Image.MAX_IMAGE_PIXELS = None
    with path.open("rb") if known is None and isinstance(path, Path) else BytesIO(known or path.read_bytes()) as file:
        try:
            image = recognized(file)
        except Image.DecompressionBombError as error:
            raise DataError(f"{error} If you trust the file, raise the limit: {variable('pixels')}") from error
        check_amount("pixels", image.width * image.height, "too large", "an image")
        yield image


def recognized(file: IO[bytes]) -> "ImageFile":
    """What ``PIL.Image.open`` returns, without its warning about images of half the limit on pixels.

    Images are decoded by threads, and ``warnings.catch_warnings`` changes the filters of all threads.
    """
    from PIL import Image, UnidentifiedImageError

    prefix = file.read(16)
    if not prefix:
        raise UnidentifiedImageError("the file is empty")
    for name in formats():
        factory, accept = Image.OPEN[name]
        with suppress(SyntaxError, IndexError, TypeError, struct.error):  # what a plugin raises for other formats
            accepted = accept is None or accept(prefix)
            if accepted and not isinstance(accepted, str):  # a string says what is missing to read it
                file.seek(0)
                return factory(file, "")
    raise UnidentifiedImageError("cannot identify image file")


@contextmanager
def image_errors(path: File) -> Iterator[None]:
    """Turn what Pillow raises for a broken file into a DataError; its plugins raise errors of any type."""
    try:
        yield
    except Exception as error:
        raise DataError(f"{path}: not a readable image ({reason(error)}); repair or remove it") from error


def reason(error: BaseException | None) -> str:
    """The first line of Pillow's message, without the path, which our message has already."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text.split(" '")[0].split(" <")[0].removesuffix(":")


@cache
def formats() -> tuple[str, ...]:
    """Names of the formats that this version of Pillow can read."""
    from PIL import Image

    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


@cache
def suffixes() -> set[str]:
    """File extensions of these formats."""
    from PIL import Image

    return {ending for ending, kind in Image.registered_extensions().items() if kind in (*formats(), "MPO")}

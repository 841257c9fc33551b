"""One image file to one tensor of bytes, with Pillow."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from reweigh.errors import DataError

GRAY = ("1", "L", "LA", "I", "I;16", "I;16B", "I;16L")  # Pillow's names for images without color


class Header(NamedTuple):
    """What an image file says of itself before its pixels are decoded."""

    height: int
    width: int
    gray: bool


def header(path: Path) -> Header:
    """Size and kind of an image.

    Raises:
        DataError: the file is not an image.
    """
    from PIL import Image

    with told(path):
        if path.suffix.lower() not in suffixes():
            raise ValueError("not an image by its ending")
        with Image.open(path) as image:
            return Header(image.height, image.width, image.mode in GRAY)


def decode(path: Path, size: tuple[int, int], channels: int) -> Tensor:
    """The pixels, shape (channels, height, width), resized (bilinear, without keeping the proportions) if they differ.

    Args:
        size: height and width.
        channels: 1 for gray, 3 for color.

    Raises:
        DataError: the file cannot be decoded.
    """
    import numpy as np
    from PIL import Image

    with told(path), Image.open(path) as image:
        image.draft(None, (4 * size[1], 4 * size[0]))  # a JPEG that is much larger is not decoded in full
        image.load()
        if image.mode.startswith("I"):  # 16 bits a pixel: Pillow would clip at 255, so scale
            image = Image.fromarray((np.asarray(image) // 256).clip(0, 255).astype(np.uint8))
        mode = "L" if channels == 1 else "RGB"
        image = image if image.mode == mode else image.convert(mode)
        if (image.height, image.width) != size:
            image = image.resize((size[1], size[0]), Image.Resampling.BILINEAR)
        return torch.from_numpy(np.array(image)).reshape(*size, channels).permute(2, 0, 1)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what Pillow raises for a broken file into a DataError; its plugins raise nearly anything."""
    try:
        yield
    except Exception as error:
        raise DataError(f"{path}: not a readable image ({reason(error)}); mend it or move it away") from error


def reason(error: BaseException | None) -> str:
    """The first line of what Pillow said, without the path, which the message has already."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text.split(" '")[0].split(": <")[0]


@cache
def suffixes() -> set[str]:
    """Endings of the files that Pillow can read."""
    from PIL import Image

    Image.init()
    return {ending for ending, kind in Image.registered_extensions().items() if kind in Image.OPEN}

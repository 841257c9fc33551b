"""The image files below a folder, and their pixels in memory or read on demand."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from reweigh.data.checks import listed
from reweigh.data.inputs import Inputs
from reweigh.data.on_demand import OnDemand, fits
from reweigh.data.readers.headers import headers_of
from reweigh.data.readers.image_files import Header, Resize, decode, image_errors, reason
from reweigh.data.readers.image_paths import image_paths
from reweigh.data.readers.packed import File
from reweigh.data.scratch import DEFAULT_DISK_GB
from reweigh.errors import DataError

log = logging.getLogger(__name__)


class Image(NamedTuple):
    """A file that has the header of an image."""

    path: File
    label: int
    header: Header


Skipped = dict[File, tuple[int, str]]  # file -> label and reason


def find_images(root: Path, names: Sequence[str]) -> tuple[list[Image], Skipped]:
    """All files below the class folders: those with the header of an image, and the others."""
    labels, paths = [], []
    for label, name in enumerate(names):
        below = list(image_paths(root / name))
        paths += below
        labels += [label] * len(below)
    found: list[Image] = []
    skipped: Skipped = {}
    for path, label, header in zip(paths, labels, headers_of(paths, root), strict=True):
        if isinstance(header, Header):
            found.append(Image(path, label, header))
        else:
            skipped[path] = (label, header)
    return found, skipped


def read_pixels(
    found: list[Image],
    shape: tuple[int, int, int],
    memory_gb: float,
    skipped: Skipped,
    resize: Resize,
    disk_gb: float = DEFAULT_DISK_GB,
) -> tuple[Inputs, Tensor]:
    """The pixels of the images that can be read, and which these are: indices into ``found``, shape (N,).

    What fits in memory is decoded now, and a file that turns out to be broken is added to ``skipped``. Otherwise files
    are decoded on demand, and a broken one raises a DataError with its name then.

    Args:
        shape: Channels, height and width of every image.
        memory_gb: Gigabytes that the pixels may take in memory.
        resize: How images of other proportions are resized.
        disk_gb: See ``OnDemand``.
    """
    channels, *size = shape
    paths = [image.path for image in found]
    if not fits(len(found), shape, torch.uint8, memory_gb):
        form = f"{shape} {resize}".encode()

        def content(row: int) -> tuple[bytes, bytes]:
            with image_errors(paths[row]):
                return form, paths[row].read_bytes()

        def pixels_of(row: int) -> Tensor:
            return decode(paths[row], (size[0], size[1]), channels, resize)

        return OnDemand(pixels_of, len(paths), shape, content=content, disk_gb=disk_gb), torch.arange(len(found))
    good = torch.ones(len(found), dtype=torch.bool)

    def read_one(row: int) -> Tensor:
        try:
            return decode(paths[row], (size[0], size[1]), channels, resize)
        except DataError as error:
            good[row] = False
            skipped[paths[row]] = (found[row].label, reason(error.__cause__))
            return torch.zeros(shape, dtype=torch.uint8)

    pixels = OnDemand(read_one, len(found), shape).in_memory()
    return pixels if bool(good.all()) else pixels[good], good.nonzero().flatten()


def shown(file: File, root: Path) -> str:
    """The name of a file in messages and tables."""
    if not isinstance(file, Path):
        return file.name
    return str(file.relative_to(root) if file.is_relative_to(root) else file)


def warn_of_skipped(root: Path, skipped: Skipped, num_found: int) -> tuple[str, ...]:
    """Log a warning that lists the files that were left out, and return each with its reason."""
    lines = tuple(sorted(f"{shown(path, root)}: {why}" for path, (_, why) in skipped.items()))
    if lines:
        log.warning("%s: %d of %d files left out: %s", root, len(lines), len(lines) + num_found, listed(lines))
    return lines

"""Paths of image files as X."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from reweigh.data import Inputs
from reweigh.data.on_demand import DEFAULT_MEMORY_GB
from reweigh.data.readers.image_files import Header, check_pillow, suffixes
from reweigh.data.readers.images import Image, Skipped, headers_of, read_pixels
from reweigh.errors import DataError
from reweigh.names import listed, plural
from reweigh.plan.choose import Facts, wants_features

PRETRAINED_SIDE, SMALL_NETWORK_SIDE = 224, 64  # pixels, at most, of images for a pretrained network and for a small one


def paths_in(X: Any) -> list[Path] | None:
    """The paths in a list, an array or a Series of paths of images; None if X is something else."""
    if not isinstance(X, list | tuple) and (getattr(X, "ndim", 0) != 1 or not hasattr(X, "__len__")):
        return None
    if not len(X):
        return None
    values = list(X)
    if all(isinstance(each, Path) for each in values):
        return values
    if not all(isinstance(each, str | Path) for each in values):
        return None
    check_pillow()
    known = suffixes()
    return [Path(each) for each in values] if all(Path(each).suffix.lower() in known for each in values) else None


def read_images(files: Sequence[Path], what: str, shape: tuple[int, ...] | None, estimator: Any) -> Inputs:
    """The pixels of image files, all in one size; gray if all are gray.

    Args:
        shape: Channels, height and width; None chooses them from the images.
        estimator: Whose parameters say whether a pretrained network sees the images, which are larger then.

    Raises:
        DataError: Some files are gone or not images, all of which the message names.
    """
    check_pillow()
    found = headers_of(files, Path())
    images = [Image(file, its) for file, its in zip(files, found, strict=True) if isinstance(its, Header)]
    skipped: Skipped = {file: its for file, its in zip(files, found, strict=True) if not isinstance(its, Header)}
    if not skipped:
        size = shape_of(images, estimator) if shape is None else (shape[0], shape[1], shape[2])
        inputs, kept = read_pixels(images, size, DEFAULT_MEMORY_GB, skipped, "crop")
        if len(kept) == len(files):
            return inputs
    broken = [f"{file}: {why if Path(str(file)).exists() else 'no such file'}" for file, why in skipped.items()]
    files_are = plural(len(broken), "file cannot", "files cannot")
    raise DataError(f"{what}: {files_are} be read as an image; leave them out of X and y: {listed(broken)}")


def shape_of(images: Sequence[Image], estimator: Any) -> tuple[int, int, int]:
    """Channels, height and width in which to read images: their own if they agree and are not too large."""
    sizes = {image.header[:2] for image in images}
    channels = 1 if all(image.header.gray for image in images) else 3
    usual = round(median(min(image.header[:2]) for image in images))
    facts = Facts(len(images), (channels, usual, usual), (), images=True, photos=channels == 3, pixels=True)
    frozen = estimator.features not in (None, "none")
    if estimator.features == "auto":
        frozen = estimator.model is None and wants_features(facts, {"method": {"name": str(estimator.method)}})
    side = PRETRAINED_SIDE if frozen else SMALL_NETWORK_SIDE
    height, width = (int(each) for each in images[0].header[:2])
    if len(sizes) > 1 or max(height, width) > side:
        height = width = min(side, usual)
    return channels, height, width

"""Paths of image files as X."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reweigh.data import Inputs
from reweigh.data.on_demand import DEFAULT_MEMORY_GB
from reweigh.data.readers.image_files import Header, check_pillow, suffixes
from reweigh.data.readers.images import Image, Skipped, headers_of, read_pixels
from reweigh.errors import DataError
from reweigh.names import listed, plural
from reweigh.plan.image_size import image_size


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
        chosen = shape or image_size([image.header for image in images], given_by(estimator)).facts.shape
        inputs, kept = read_pixels(images, (chosen[0], chosen[1], chosen[2]), DEFAULT_MEMORY_GB, skipped, "crop")
        if len(kept) == len(files):
            return inputs
    broken = [f"{file}: {why if Path(str(file)).exists() else 'no such file'}" for file, why in skipped.items()]
    files_are = plural(len(broken), "file cannot", "files cannot")
    raise DataError(f"{what}: {files_are} be read as an image; leave them out of X and y: {listed(broken)}")


def given_by(estimator: Any) -> dict[str, Any]:
    """What the parameters of the estimator say about the network that sees the images."""
    given: dict[str, Any] = {"method": {"name": str(estimator.method)}}
    given |= {} if estimator.model is None else {"model": {}}
    own = estimator.features
    if own is None or (isinstance(own, str) and own != "auto"):
        given["features"] = {"name": own or "none"}
    elif not isinstance(own, str):
        given["features"] = own if isinstance(own, Mapping) else {"name": type(own).__name__}
    return given

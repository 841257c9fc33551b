"""A folder of images with one sub-folder a class."""

import logging
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from reweigh.data.checks import check, check_samples, listed, raise_all
from reweigh.data.dataset import Dataset, Reading
from reweigh.data.normalize import standardize_like
from reweigh.data.on_demand import DEFAULT_MEMORY_GB, OnDemand, fits
from reweigh.data.readers.image_files import Header, decode, header, reason
from reweigh.data.readers.image_paths import class_folders, image_paths
from reweigh.errors import DataError

log = logging.getLogger(__name__)
SAMPLED = 1000  # images from which mean and deviation are taken when they are not in memory


class Image(NamedTuple):
    """A file that is an image by its header."""

    path: Path
    label: int
    header: Header


Skipped = dict[Path, tuple[int, str]]  # file -> label and reason


def read_image_folder(
    root: str | Path,
    *,
    size: int | tuple[int, int] | None = None,
    class_names: Sequence[str] | None = None,
    memory_gb: float = DEFAULT_MEMORY_GB,
    workers: int | None = None,
) -> Dataset:
    """Every image below ``root/CLASS/``, as bytes (C, H, W); gray if all are gray.

    Files that cannot be read are left out, never silently: a warning is logged, and ``dataset.reading.skipped`` lists
    each with the reason. A set that fits into ``memory_gb`` is decoded at once; of a larger one only the headers are
    read now, and a file that turns out broken later stops the batch with its name.

    Args:
        size: height and width to resize to, or one number for both; needed if the images differ in size.
        class_names: the sub-folders that are classes, in this order; all of them, sorted, by default.
        memory_gb: gigabytes that the images may take in memory.
        workers: threads that read.

    Raises:
        DataError: no classes, an empty class, a loop of symbolic links, images of different sizes without ``size``.
    """
    root, what = Path(root), str(root)
    check_pillow()
    names = class_folders(root, class_names)
    found, skipped = find_images(root, names)
    wanted = (size, size) if isinstance(size, int) else size
    raise_all([*class_mistakes(names, found, skipped), *size_mistakes(found, wanted)], what)
    height, width = wanted or found[0].header[:2]
    shape = (1 if all(image.header.gray for image in found) else 3, height, width)

    if fits(len(found), shape, torch.uint8, memory_gb):
        inputs, found = decode_all(found, shape, workers, skipped)
        raise_all(class_mistakes(names, found, skipped), what)
        sample = inputs
    else:
        files = [image.path for image in found]
        inputs = OnDemand(lambda place: decode(files[place], shape[1:], shape[0]), len(files), shape, workers=workers)
        sample = inputs[torch.randperm(len(files), generator=torch.Generator().manual_seed(0))[:SAMPLED]]

    reading = Reading(
        names=tuple(str(image.path.relative_to(root)) for image in found),
        skipped=tuple(f"{path.relative_to(root)}: {why}" for path, (_, why) in sorted(skipped.items())),
    )
    if skipped:
        log.warning(
            "%s: %d of %d files left out: %s", root, len(skipped), len(skipped) + len(found), listed(reading.skipped)
        )
    labels = torch.tensor([image.label for image in found])
    dataset = Dataset(inputs, labels, names, normalize=standardize_like(sample), reading=reading)
    return (check if class_names is None else check_samples)(dataset, what)


def check_pillow() -> None:
    """Raise a DataError with the remedy if Pillow is not installed."""
    if find_spec("PIL") is None:
        raise DataError("reading images needs Pillow; install it: pip install 'reweigh[image]'")


def find_images(root: Path, names: Sequence[str]) -> tuple[list[Image], Skipped]:
    """All files below the class folders: those with the header of an image, and the others."""
    found: list[Image] = []
    skipped: Skipped = {}
    for label, name in enumerate(names):
        for path in image_paths(root / name):
            try:
                found.append(Image(path, label, header(path)))
            except DataError as error:
                skipped[path] = (label, reason(error.__cause__))
    return found, skipped


def class_mistakes(names: Sequence[str], found: Sequence[Image], skipped: Skipped) -> list[str]:
    """Each class without a readable image, and what its folder holds instead."""
    filled = {image.label for image in found}
    mistakes = []
    for label, name in enumerate(names):
        if label not in filled:
            broken = [f"{path.name}: {why}" for path, (its, why) in sorted(skipped.items()) if its == label]
            content = (
                f"none of its {len(broken)} files is a readable image ({listed(broken)})" if broken else "it is empty"
            )
            mistakes.append(f"class {name!r}: {content}; add images or remove the folder")
    return mistakes


def size_mistakes(found: Sequence[Image], wanted: tuple[int, int] | None) -> list[str]:
    """Images of different sizes and no size to bring them to, or a size that is none."""
    if wanted is not None:
        return [] if min(wanted) > 0 else [f"size: {wanted}; give a height and a width of 1 or more"]
    sizes = Counter(image.header[:2] for image in found)
    if len(sizes) <= 1:
        return []
    usual, _ = sizes.most_common(1)[0]
    odd = next(image.path for image in found if image.header[:2] != usual)
    counted = listed(f"{count} of {height} x {width}" for (height, width), count in sizes.most_common())
    return [
        f"images of {len(sizes)} different sizes: {counted}; for example {odd.parent.name}/{odd.name}. "
        f"Give a size to resize them to, such as size={min(usual)}"
    ]


def decode_all(
    found: list[Image], shape: tuple[int, int, int], workers: int | None, skipped: Skipped
) -> tuple[Tensor, list[Image]]:
    """The pixels of all images, and the images that have some; the others go to ``skipped``."""
    good = torch.ones(len(found), dtype=torch.bool)

    def read_one(place: int) -> Tensor:
        try:
            return decode(found[place].path, shape[1:], shape[0])
        except DataError as error:
            good[place] = False
            skipped[found[place].path] = (found[place].label, reason(error.__cause__))
            return torch.zeros(shape, dtype=torch.uint8)

    pixels = OnDemand(read_one, len(found), shape, workers=workers).in_memory()
    if good.all():
        return pixels, found
    return pixels[good], [image for image, fine in zip(found, good.tolist(), strict=True) if fine]

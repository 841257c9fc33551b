"""A folder of images with one sub-folder per class, or images to predict."""

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import torch

from reweigh.data.checks import check, check_samples, listed, plural, raise_all
from reweigh.data.dataset import Dataset, Reading
from reweigh.data.on_demand import standardize_by_some
from reweigh.data.parts import class_folders, has_test_folder, split_folder, sub_folders
from reweigh.data.readers.image_files import check_pillow, header, suffixes
from reweigh.data.readers.images import (
    Image,
    Skipped,
    equal_files,
    find_images,
    in_form,
    pixels_of,
    shown,
    warn_of_skipped,
)
from reweigh.data.readers.reader import Form, Reader, Request, Unlabeled, UnlabeledReader

log = logging.getLogger(__name__)


def read_image_folder(path: Path, request: Request) -> Dataset:
    """Every image below ``path/CLASS/``, as bytes (C, H, W); gray if all are gray.

    Files that cannot be read are left out, never silently: a warning is logged, and ``dataset.reading.skipped`` lists
    each with the reason. Images that fit in memory are decoded at once. Of a larger set only the headers are read now,
    and a file that turns out to be broken later raises an error with its name.

    Raises:
        DataError: No classes, an empty class unless class names are given, a loop of symbolic links, or images of
            different sizes without a size.
    """
    root = split_folder(path, request.split)
    what = str(root)
    check_pillow()
    names = class_folders(root, request.class_names)
    found, skipped = find_images(root, names)
    inputs, kept = pixels_of(found, skipped, request, what, class_mistakes(names, found, skipped, request))
    found = [found[place] for place in kept.tolist()]
    raise_all(class_mistakes(names, found, skipped, request), what)
    reading = Reading(
        names=tuple(shown(image.path, root) for image in found),
        skipped=warn_of_skipped(root, skipped, len(found)),
    )
    labels = torch.tensor([image.label for image in found])
    dataset = Dataset(
        inputs,
        labels,
        names,
        normalize=standardize_by_some(inputs),
        groups=equal_files([image.path for image in found]),
        reading=reading,
    )
    return (check if request.class_names is None else check_samples)(dataset, what)


def class_mistakes(names: Sequence[str], found: Sequence[Image], skipped: Skipped, request: Request) -> list[str]:
    """Each class without a readable image, and what its folder holds instead; a test set may lack classes."""
    filled = {image.label for image in found}
    if filled and request.class_names is not None:
        return []
    mistakes = []
    for label, name in enumerate(names):
        if label not in filled:
            broken = sorted(f"{path.name}: {why}" for path, (its, why) in skipped.items() if its == label)
            files = f"no readable image in its {plural(len(broken), 'file')} ({listed(broken)})"
            content = files if broken else "it is empty"
            mistakes.append(f"class {name!r}: {content}; add images or remove the folder")
    return mistakes


def read_images(path: Path, form: Form) -> Unlabeled:
    """One image or all images below a folder, in size and color of the training images."""
    check_pillow()
    root = path if path.is_dir() else path.parent
    found, skipped = find_images(path, ["."]) if path.is_dir() else ([Image(path, 0, header(path))], {})
    return in_form(found, skipped, root, form, path)


def _has_sub_folders(path: Path) -> bool:
    return path.is_dir() and bool(sub_folders(path))


def _may_hold_images(path: Path) -> bool:
    if path.is_dir() or find_spec("PIL") is None:
        return path.is_dir()
    return path.suffix.lower() in suffixes()


READER = Reader(
    about="a folder of images with one sub-folder per class",
    recognizes=_has_sub_folders,
    read=read_image_folder,
    has_test=has_test_folder,
    unlabeled=UnlabeledReader("an image or a folder of images", _may_hold_images, read_images),
)

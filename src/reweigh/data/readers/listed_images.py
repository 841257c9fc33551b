"""Images with a list of their labels, from any source: files, members of an archive, cells of a table."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from reweigh.data.checks import check, check_samples, listed, plural, raise_all
from reweigh.data.dataset import Dataset, Reading
from reweigh.data.inputs import is_image
from reweigh.data.labels.class_numbers import encode
from reweigh.data.on_demand import standardize_by_some
from reweigh.data.readers.found_images import Image, Skipped, read_pixels, warn_of_skipped
from reweigh.data.readers.headers import headers_of
from reweigh.data.readers.image_files import Header, check_pillow
from reweigh.data.readers.image_folder import in_form, size_mistakes
from reweigh.data.readers.packed import File
from reweigh.data.readers.reader import Form, Request, Unlabeled
from reweigh.errors import DataError
from reweigh.names import suggestion

log = logging.getLogger(__name__)


class ImageList(NamedTuple):
    """Images with their labels.

    Attributes:
        root: Where the images are.
        names: Name of each image, in the order of the list.
        files: The images.
        labels: Label of each; None where it is missing.
        class_names: Names of the classes in their order, if the data have one.
    """

    root: Path
    names: tuple[str, ...]
    files: Sequence[File]
    labels: list[Any]
    class_names: tuple[str, ...] | None = None


def read_listed(found: ImageList, request: Request, what: str) -> Dataset:
    """The listed images as bytes (C, H, W); gray if all are gray.

    Files that are absent or cannot be read are left out with a warning, and so are images without a label.

    Raises:
        DataError: No readable image, or images of different sizes without a size.
    """
    images, skipped, rows = headers(found)
    if not images and all(label is None for label in found.labels):
        raise DataError(f"{what}: none of its {plural(len(found.names), 'listed image')} has a label")
    if not images:
        raise DataError(f"{what}: none of its {plural(len(found.names), 'listed image')} can be read in {found.root}")
    wanted = (request.size, request.size) if isinstance(request.size, int) else request.size
    raise_all(size_mistakes(images, wanted), what)
    height, width = wanted or images[0].header[:2]
    shape = (1 if all(image.header.gray for image in images) else 3, height, width)
    inputs, kept = read_pixels(images, shape, request.memory_gb, skipped, request.resize, request.disk_gb)
    origin = torch.tensor(rows)[kept]
    given = [found.labels[row] for row in origin.tolist()]
    labels, names = encode(given, request.class_names or _used(found, given), f"{what}: labels")
    reading = Reading(names=found.names, skipped=warn_of_skipped(found.root, skipped, len(kept)))
    whole = len(origin) == len(found.names)
    dataset = Dataset(
        inputs,
        labels,
        names,
        normalize=standardize_by_some(inputs),
        origin=None if whole else origin,
        reading=reading,
    )
    return (check if request.class_names is None else check_samples)(dataset, what)


def _used(found: ImageList, given: Sequence[Any]) -> list[str] | None:
    """The classes in the order of the data, without those that no image has."""
    return None if found.class_names is None else [name for name in found.class_names if name in set(given)]


def headers(found: ImageList) -> tuple[list[Image], Skipped, list[int]]:
    """The images that have a label and a readable header, the files that do not, and the row of each image."""
    labeled = [row for row, label in enumerate(found.labels) if label is not None]
    if gaps := len(found.labels) - len(labeled):
        log.warning("%s: %s without a label left out", found.root, plural(gaps, "image"))
    files = [found.files[row] for row in labeled]
    images: list[Image] = []
    rows: list[int] = []
    skipped: Skipped = {}
    for row, file, header in zip(labeled, files, headers_of(files, found.root), strict=True):
        if isinstance(header, Header):
            images.append(Image(file, 0, header))
            rows.append(row)
        else:
            gone = isinstance(file, Path) and not file.exists()
            skipped[file] = (0, "there is no such file" if gone else header)
    return images, skipped, rows


def read_to_predict(found: ImageList, form: Form, path: Path) -> Unlabeled:
    """The images in size and color of those that the model was trained on; labels are ignored."""
    check_pillow()
    if not is_image(form.shape):
        raise form.mismatch(path, "images")
    images, skipped, _ = headers(found._replace(labels=[0] * len(found.names)))
    return in_form(images, skipped, found.root, form, path)


def no_labels(path: Path, columns: Sequence[str], wanted: str | None) -> DataError:
    """The error for images without a known column of labels, or without the wanted one."""
    if wanted is not None:
        near = suggestion(wanted, columns)
        return DataError(f"{path}: no column {wanted!r} for the label; there are: {listed(columns)}.{near}")
    return DataError(f"{path}: which column is the label? There are: {listed(columns)}. Name one", "label")

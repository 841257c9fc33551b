"""Inputs without labels, in the form of samples that a model was trained on."""

import logging
from pathlib import Path
from typing import NamedTuple

import torch

from reweigh.data.arrays import as_tensor, channels_first, load
from reweigh.data.checks import check_samples, listed
from reweigh.data.dataset import Dataset, Inputs
from reweigh.data.on_demand import DEFAULT_MEMORY_GB, OnDemand, fits
from reweigh.data.readers.image_files import decode, header, suffixes
from reweigh.data.readers.image_folder import Image, check_pillow, decode_all, find_images
from reweigh.data.readers.npz import INPUT_KEYS, pick
from reweigh.data.tables.encoding import Encoding
from reweigh.data.tables.frames import SUFFIXES, read_frame
from reweigh.errors import DataError

log = logging.getLogger(__name__)
KNOWN = "a table (.csv, .tsv, .parquet), an image or a folder of images, or arrays (.npz, .npy)"


class Unlabeled(NamedTuple):
    """Inputs, and what each is called: a file name; empty for rows, which go by their number."""

    inputs: Inputs
    names: tuple[str, ...] = ()


def read_unlabeled(
    path: str | Path, shape: tuple[int, ...], *, encoding: Encoding | None, raw_bytes: bool
) -> Unlabeled:
    """What lies at ``path``, labels passed over; images are brought to size and color of the training images.

    Args:
        shape: of a training sample.
        encoding: of the columns, if the training samples came from a table.
        raw_bytes: the training samples were bytes, as those of images.

    Raises:
        DataError: the data are of another kind or shape, cannot be read, or are not finite somewhere.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path}: there is nothing at this path")
    table, arrays = path.name.endswith(SUFFIXES), path.suffix in (".npz", ".npy")
    if (encoding is not None) != table:
        trained, got = ("rows of a table", "no table") if encoding else (_shown(shape), "a table")
        raise DataError(f"{path}: {got}, but the model was trained on {trained}; give data of that kind")
    if table and encoding is not None:
        inputs = encoding.apply(read_frame(path, encoding.texts), str(path))
    elif arrays:
        found = load(path)
        inputs = found if not isinstance(found, dict) else pick(found, None, INPUT_KEYS, "inputs", path)
        inputs = channels_first(as_tensor(inputs, str(path)))
        _check_arrays(path, tuple(inputs.shape[1:]), inputs.dtype == torch.uint8, shape, raw_bytes)
    else:
        check_pillow()
        if not path.is_dir() and path.suffix.lower() not in suffixes():
            raise DataError(f"{path}: not known by its name; known are {KNOWN}")
        return _read_images(path, shape, raw_bytes)
    check_samples(Dataset(inputs, torch.zeros(len(inputs), dtype=torch.int64), ("any",)), str(path))
    return Unlabeled(inputs)


def _check_arrays(path: Path, got: tuple[int, ...], got_bytes: bool, shape: tuple[int, ...], raw_bytes: bool) -> None:
    if got != shape:
        raise DataError(f"{path}: {_shown(got)}, but the model was trained on {_shown(shape)}; give data of that shape")
    if got_bytes != raw_bytes:
        kinds = ("bytes (uint8), from 0 to 255", "numbers that are no bytes")
        trained, given = kinds if raw_bytes else reversed(kinds)
        raise DataError(f"{path}: {given}, but the model was trained on {trained}; store the inputs alike")


def _read_images(path: Path, shape: tuple[int, ...], raw_bytes: bool) -> Unlabeled:
    if len(shape) != 3 or shape[0] not in (1, 3) or not raw_bytes:
        raise DataError(f"{path}: images, but the model was trained on {_shown(shape)}; give data of that kind")
    channels, height, width = shape
    found, skipped = find_images(path, ["."]) if path.is_dir() else ([Image(path, 0, header(path))], {})
    if fits(len(found), shape, torch.uint8, DEFAULT_MEMORY_GB):
        inputs, found = decode_all(found, (channels, height, width), None, skipped)
    else:
        files = [image.path for image in found]
        inputs = OnDemand(lambda place: decode(files[place], (height, width), channels), len(files), shape)
    names = [str(file.relative_to(path)) if path.is_dir() else file.name for file in (image.path for image in found)]
    broken = [f"{file.relative_to(path) if path.is_dir() else file.name}: {why}" for file, (_, why) in skipped.items()]
    if not found:
        raise DataError(f"{path}: no readable image{': ' + listed(broken) if broken else ''}; known are {KNOWN}")
    if broken:
        log.warning("%s: %d of %d files left out: %s", path, len(broken), len(broken) + len(found), listed(broken))
    if other := sum(image.header[:2] != (height, width) for image in found):
        log.info("%s: %d of %d images are resized to %d x %d", path, other, len(found), height, width)
    if colored := sum(channels == 1 and not image.header.gray for image in found):
        log.info("%s: %d of %d images lose their color; the model was trained in gray", path, colored, len(found))
    return Unlabeled(inputs, tuple(names))


def _shown(shape: tuple[int, ...]) -> str:
    kind = "images" if len(shape) == 3 else "samples"
    return f"{shape[0]} features a row" if len(shape) == 1 else f"{kind} of {' x '.join(map(str, shape))}"

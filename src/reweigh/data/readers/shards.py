"""Tar archives of images and labels, as webdataset writes them, read in any order without unpacking."""

import json
import tarfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from reweigh.data.dataset import Dataset
from reweigh.data.parts import archives_at, of_split, parts_of
from reweigh.data.readers.image_files import Packed, check_pillow, mapped, suffixes
from reweigh.data.readers.images import ImageList, no_labels, read_listed, read_to_predict
from reweigh.data.readers.reader import Form, Reader, Request, Unlabeled, UnlabeledReader
from reweigh.data.readers.table import USUAL_LABELS, gaps_as_none
from reweigh.errors import DataError

ABOUT = "tar archives of images (webdataset)"
NUMBER = "cls"  # extension of a member that holds the number of a class
Parts = dict[str, Packed]  # the members of a sample by extension


def read_shards(path: Path, request: Request) -> Dataset:
    """The images of all archives, numbered in the order of archives and members.

    Raises:
        DataError: An archive is damaged or compressed, or nothing says what the labels are.
    """
    check_pillow()
    return read_listed(find_shards(path, request.split, request.source.label), request, str(path))


def find_shards(path: Path, split: str = "train", label: str | None = None) -> ImageList:
    """The images of all archives with their labels.

    Members belong to one sample if their names are the same up to the first dot. Its label is in the member ``cls``, or
    in its JSON (``label``, ``class``, ...), or the folder in front of its name; ``label`` names another extension or
    key.
    """
    samples = [sample for file in of_split(path, ".tar", split) for sample in _index(file, file.stat().st_mtime_ns)]
    images = [(key, image, parts) for key, image, parts in samples if image is not None]
    if not images:
        raise DataError(f"{path}: no images in its tar archives")
    labels = _labels(path, [(key, parts) for key, _, parts in images], label)
    files = [image for _, image, _ in images]
    return ImageList(path, tuple(file.name for file in files), files, gaps_as_none(labels))


def _labels(path: Path, samples: Sequence[tuple[str, Parts]], label: str | None) -> list[Any]:
    extensions = list(dict.fromkeys(extension for _, parts in samples for extension in parts))
    wanted = label or (NUMBER if NUMBER in extensions else None)
    if wanted in extensions:
        texts = [parts[wanted].read_bytes() if wanted in parts else b"" for _, parts in samples]
        return [text.decode("utf-8", "replace").strip() for text in texts]
    described = [_description(parts) for _, parts in samples]
    keys = list(dict.fromkeys(key for about in described for key in about))
    found = next((key for key in ([label] if label else USUAL_LABELS) if key in keys), None)
    if found is not None:
        return [about.get(found) for about in described]
    folders = [str(PurePosixPath(key).parent.name) for key, _ in samples]
    if label is None and all(folders):
        return folders
    raise no_labels(path, [*extensions, *keys], label)


def _description(parts: Parts) -> dict[str, Any]:
    try:
        found = json.loads(parts["json"].read_bytes()) if "json" in parts else {}
    except (ValueError, RecursionError):
        raise DataError(f"{parts['json']}: not JSON") from None
    return found if isinstance(found, dict) else {}


@lru_cache(maxsize=10_000)
def _index(file: Path, changed: int) -> list[tuple[str, Packed | None, Parts]]:
    """The samples of an archive: their names, images and other members.

    Args:
        changed: When the archive was changed.
    """
    samples: dict[str, Parts] = {}
    try:
        with open(file, "rb") as opened, tarfile.open(fileobj=opened, mode="r:") as archive:
            data = mapped(opened)
            for member in archive:
                if member.isreg() and not member.issparse():
                    name = PurePosixPath(member.name)
                    stem, _, extension = name.name.partition(".")
                    packed = Packed(str(name), file, data, member.offset_data, member.size)
                    samples.setdefault(str(name.parent / stem), {})[extension.lower()] = packed
    except (tarfile.TarError, OSError, ValueError) as error:
        raise DataError(
            f"{file}: not a tar archive that can be read ({error}); unpack it if it is compressed"
        ) from error
    image = {ending[1:] for ending in suffixes()}
    return [
        (
            key,
            next((packed for extension, packed in parts.items() if extension in image), None),
            {extension: packed for extension, packed in parts.items() if extension not in image},
        )
        for key, parts in samples.items()
    ]


def is_shards(path: Path) -> bool:
    """Whether there are tar archives at a path."""
    return bool(archives_at(path, ".tar"))


def _to_predict(path: Path, form: Form) -> Unlabeled:
    samples = [sample for file in archives_at(path, ".tar") for sample in _index(file, file.stat().st_mtime_ns)]
    files = [image for _, image, _ in samples if image is not None]
    return read_to_predict(ImageList(path, tuple(file.name for file in files), files, []), form, path)


READER = Reader(
    about=ABOUT,
    recognizes=is_shards,
    read=read_shards,
    has_test=lambda path: "test" in parts_of(archives_at(path, ".tar")),
    unlabeled=UnlabeledReader(ABOUT, is_shards, _to_predict),
)

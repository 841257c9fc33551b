"""Images packed into tar archives, as webdataset writes them, or into Parquet and Arrow files, as the Hub has them."""

import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from reweigh.data.parts import archives_at, of_split, parts_of
from reweigh.data.readers.image_files import Packed, mapped, suffixes
from reweigh.data.readers.images import ImageList, image_reader
from reweigh.data.readers.table import gaps_as_none
from reweigh.data.source import USUAL_LABELS, Source, absent
from reweigh.data.tables.frames import ARROW_SUFFIXES, data_errors, row_batches, schema_of
from reweigh.data.tables.frames import class_names as names_of_classes
from reweigh.errors import DataError, StorageError
from reweigh.files.limits import check_expanded, check_file
from reweigh.files.row_cache import cache_root, megabytes
from reweigh.files.whole import writing

CLASS_NUMBER = "cls"  # extension of a member of an archive that holds the number of a class
ROWS_AT_ONCE = 256
LABEL_COLUMNS = ("label", "labels", "fine_label", "target", "y")
Parts = dict[str, Packed]  # the members of a sample by extension


def find_shards(source: Source, split: str, class_names: Sequence[str] | None = None) -> ImageList:
    """The images of all archives with their labels.

    Members belong to one sample if their names are the same up to the first dot. Its label is in the member ``cls``, or
    in its JSON (``label``, ``class``, ...), or the folder in front of its name; ``label`` names another extension or
    key.
    """
    path, label = source.path, source.label
    samples = [sample for file in of_split(path, ".tar", split) for sample in _index(file, file.stat().st_mtime_ns)]
    images = [(key, image, parts) for key, image, parts in samples if image is not None]
    if not images:
        raise DataError(f"{path}: no images in its tar archives")
    labels = _labels(path, [(key, parts) for key, _, parts in images], label)
    files = [image for _, image, _ in images]
    return ImageList(path, tuple(file.name for file in files), files, gaps_as_none(labels))


def _labels(path: Path, samples: Sequence[tuple[str, Parts]], label: str | None) -> list[Any]:
    extensions = list(dict.fromkeys(extension for _, parts in samples for extension in parts))
    wanted = label or (CLASS_NUMBER if CLASS_NUMBER in extensions else None)
    if wanted in extensions:
        texts = [parts[wanted].read_bytes() if wanted in parts else b"" for _, parts in samples]
        return [text.decode("utf-8", "replace").strip() for text in texts]
    described: list[dict[str, Any]] = []
    for _, parts in samples:
        try:
            about = json.loads(parts["json"].read_bytes()) if "json" in parts else {}
        except (ValueError, RecursionError):
            raise DataError(f"{parts['json']}: not JSON") from None
        described.append(about if isinstance(about, dict) else {})
    keys = list(dict.fromkeys(key for about in described for key in about))
    found = next((key for key in ([label] if label else USUAL_LABELS) if key in keys), None)
    if found is not None:
        return [about.get(found) for about in described]
    folders = [str(PurePosixPath(key).parent.name) for key, _ in samples]
    if label is None and all(folders):
        return folders
    raise absent(label, [*extensions, *keys], "label", path)


@lru_cache(maxsize=10_000)
def _index(file: Path, changed: int) -> list[tuple[str, Packed | None, Parts]]:
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


def find_parquet_images(source: Source, split: str, class_names: Sequence[str] | None = None) -> ImageList:
    """The images of all files with their labels: the column ``label``, or one with a usual name."""
    path, label = source.path, source.label
    files = of_split(path, ARROW_SUFFIXES, split)
    columns = _schema(files[0]).names
    column = next((name for name in ([label] if label else LABEL_COLUMNS) if name in columns), None)
    if column is None:
        raise absent(label, [name for name in columns if name != _image_column(files[0])], "label", path)
    images, labels = _unpacked(tuple(files), column, tuple(file.stat().st_mtime_ns for file in files))
    classes = names_of_classes(_schema(files[0])).get(column)
    if classes is not None:
        numbers = dict(enumerate(classes))  # the Hub has -1 for no label
        labels = [numbers.get(label) for label in labels]
    return ImageList(path, tuple(image.name for image in images), images, gaps_as_none(labels), classes)


@lru_cache(maxsize=4)
def _unpacked(files: tuple[Path, ...], label: str | None, changed: tuple[int, ...]) -> tuple[list[Packed], list[Any]]:
    """The images of all rows, copied into one file without a name, and their labels.

    Parquet stores rows in compressed groups; to read one row is to read its group.
    """
    needed, folder = sum(file.stat().st_size for file in files), cache_root()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if needed > (free := shutil.disk_usage(folder).free):
            raise StorageError(
                f"{folder}: the images need {megabytes(needed)} on disk, and {megabytes(free)} are free; make room, or "
                "let REWEIGH_CACHE name a folder on another disk"
            )
        found: list[tuple[str, Path, int, int]] = []
        labels: list[Any] = []
        with tempfile.TemporaryFile(dir=folder) as copy:
            start = copy.write(b"-")  # an empty file cannot be mapped
            for file in files:
                before = start
                for number, (name, content, given) in enumerate(_rows(file, label)):
                    found.append((name or f"{file.stem} row {number}", file, start, len(content)))
                    labels.append(given)
                    start += copy.write(content)
                    check_expanded(file, start - before)
            copy.flush()
            data = mapped(copy)
    return [Packed(name, file, data, place, size) for name, file, place, size in found], labels


def _rows(file: Path, label: str | None) -> Iterator[tuple[str | None, bytes, Any]]:
    column = _image_column(file)
    assert column is not None
    with data_errors(file):
        for batch in row_batches(file, [column, *([label] if label else [])], ROWS_AT_ONCE):
            labels = batch.column(label).to_pylist() if label else [None] * len(batch)
            if several := next((each for each in labels if isinstance(each, list | dict)), None):
                raise DataError(f"{file}: column {label!r} holds several labels per image, such as {several}; keep one")
            for cell, given in zip(batch.column(column), labels, strict=True):
                value = cell.as_py() or {}
                image: dict[str, Any] = {"bytes": value} if isinstance(value, bytes) else value
                yield image.get("path"), image.get("bytes") or b"", given


def _schema(file: Path) -> Any:
    check_file(file)
    with data_errors(file):
        return schema_of(file)


def _image_column(file: Path) -> str | None:
    """The first column of {bytes, path}, or of bytes with the name of an image."""
    import pyarrow as pa

    for field in _schema(file):
        if pa.types.is_struct(field.type) and {"bytes"} <= {inner.name for inner in field.type} <= {"bytes", "path"}:
            return field.name
        if pa.types.is_binary(field.type) and field.name in ("image", "img"):
            return field.name
    return None


def holds_images(path: Path) -> bool:
    """Whether there are such files with a column of images at a path; their first schema is read."""
    files = archives_at(path, ARROW_SUFFIXES)
    try:
        return bool(files) and find_spec("pyarrow") is not None and _image_column(files[0]) is not None
    except DataError:  # a table that cannot be read, which its reader reports
        return False


def _in_shards(path: Path) -> ImageList:
    samples = [each for file in archives_at(path, ".tar") for each in _index(file, file.stat().st_mtime_ns)]
    images = [image for _, image, _ in samples if image is not None]
    return ImageList(path, tuple(image.name for image in images), images, [])


def _in_parquet(path: Path) -> ImageList:
    files = tuple(archives_at(path, ARROW_SUFFIXES))
    images, _ = _unpacked(files, None, tuple(file.stat().st_mtime_ns for file in files))
    return ImageList(path, tuple(image.name for image in images), images, [])


TAR = "tar archives of images (webdataset)"
SHARDS = image_reader(
    TAR,
    is_shards,
    find_shards,
    (TAR, is_shards, _in_shards),
    has_test=lambda path: "test" in parts_of(archives_at(path, ".tar")),
)
ROWS = "Parquet or Arrow files with a column of images"
PARQUET = image_reader(
    ROWS,
    holds_images,
    find_parquet_images,
    (ROWS, holds_images, _in_parquet),
    has_test=lambda path: "test" in parts_of(archives_at(path, ARROW_SUFFIXES)),
)

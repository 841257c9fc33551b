"""Images in rows of Parquet and Arrow files, as the Hub stores them."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from reweigh.data.parts import arrow_files, of_split, parts_of
from reweigh.data.readers.image_files import Packed
from reweigh.data.readers.images import ImageList, image_reader
from reweigh.data.readers.table import gaps_as_none
from reweigh.data.source import Source, absent
from reweigh.data.tables.frames import class_names as names_of_classes
from reweigh.data.tables.frames import data_errors, row_batches, schema_of
from reweigh.errors import DataError, StorageError
from reweigh.files.limits import check_expanded, check_file
from reweigh.files.row_cache import cache_root, megabytes
from reweigh.files.whole import writing

ROWS_AT_ONCE = 256
LABEL_COLUMNS = ("label", "labels", "fine_label", "target", "y")


def find_parquet_images(source: Source, split: str, class_names: Sequence[str] | None = None) -> ImageList:
    """The images of all files with their labels: the column ``label``, or one with a usual name."""
    path, label = source.path, source.label
    files = of_split(path, split)
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
            data = mmap(copy.fileno(), 0, access=ACCESS_READ)  # threads and forked processes read it in parallel
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
    files = arrow_files(path)
    try:
        return bool(files) and find_spec("pyarrow") is not None and _image_column(files[0]) is not None
    except DataError:  # a table that cannot be read, which its reader reports
        return False


def _in_parquet(path: Path) -> ImageList:
    files = tuple(arrow_files(path))
    images, _ = _unpacked(files, None, tuple(file.stat().st_mtime_ns for file in files))
    return ImageList(path, tuple(image.name for image in images), images, [])


ROWS = "Parquet or Arrow files with a column of images"
PARQUET = image_reader(
    ROWS,
    holds_images,
    find_parquet_images,
    (ROWS, holds_images, _in_parquet),
    has_test=lambda path: "test" in parts_of(arrow_files(path)),
)

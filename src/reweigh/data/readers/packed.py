"""Files inside another file, read in place: samples of a tar archive, cells of a Parquet column."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path, PurePosixPath
from typing import IO

from reweigh.data.readers.image_paths import SPLIT_FOLDERS, sub_folders
from reweigh.errors import DataError


@dataclass(frozen=True, eq=False)
class Packed:
    """A file inside another, with the attributes of a path that image readers use.

    Attributes:
        name: Its name in there.
        archive: What it is packed in.
        data: The content of that.
        start: Where it begins.
        size: Number of bytes.
    """

    name: str
    archive: Path
    data: mmap
    start: int
    size: int

    def __str__(self) -> str:
        return f"{self.archive}:{self.name}"

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> PurePosixPath:
        return PurePosixPath(self.name).parent

    def read_bytes(self) -> bytes:
        return self.data[self.start : self.start + self.size]


File = Path | Packed


def mapped(file: IO[bytes]) -> mmap:
    """The content of an open file, which threads and forked processes can read in parallel."""
    return mmap(file.fileno(), 0, access=ACCESS_READ)


def archives_at(path: Path, suffix: str) -> list[Path]:
    """The files with this suffix at a path, by name: the file itself, those in a folder, or what a pattern matches.

    A folder may have sub-folders ``data``, ``train``, ``test`` and the like; one with other sub-folders, such as those
    of classes, is something else.
    """
    if path.is_dir():
        below = sub_folders(path)
        if not {*below} <= {"data", *(name for names in SPLIT_FOLDERS.values() for name in names)}:
            return []
        found = [file for folder in (".", *below) for file in (path / folder).iterdir()]
    elif path.exists() or not glob.has_magic(str(path)):
        found = [path]
    else:
        found = map(Path, glob.glob(str(path)))
    return sorted(file for file in found if file.is_file() and file.name.endswith(suffix))


def parts_of(files: Sequence[Path]) -> dict[str, list[Path]]:
    """Files for training and for testing, by the beginning of their name or that of their folder, such as train-00."""
    for name_of in (lambda file: file.name, lambda file: file.parent.name):
        parts: dict[str, list[Path]] = {}
        for split, names in SPLIT_FOLDERS.items():
            named = ([file for file in files if name_of(file).startswith(name)] for name in names)
            parts[split] = next(filter(None, named), [])
        if all(parts.values()):
            return parts
    return {"train": list(files)}


def of_split(path: Path, suffix: str, split: str) -> list[Path]:
    """The files of a split at a path.

    Raises:
        DataError: There are none.
    """
    parts = parts_of(archives_at(path, suffix))
    if split not in parts:
        raise DataError(f"{path}: no {split} part; files for testing have names that begin with test or val")
    return parts[split]

"""Which files of a folder are images of which class."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from reweigh.data.checks import listed
from reweigh.errors import DataError


def class_folders(root: Path, class_names: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the sub-folders that are classes."""
    if not root.is_dir():
        raise DataError(f"{root}: there is no such folder")
    there = sorted(entry.name for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    names = tuple(there if class_names is None else class_names)
    absent = [name for name in names if name not in there]
    if absent or not names:
        what = f"no sub-folder {listed(map(repr, absent))}" if absent else "no sub-folders"
        raise DataError(f"{root}: {what}; put the images of each class into a sub-folder named after it")
    return names


def image_paths(folder: Path, above: frozenset[str] = frozenset()) -> Iterator[Path]:
    """All files below a folder in a fixed order, links followed; hidden ones are passed over.

    Raises:
        DataError: a link leads back to a folder that contains it.
    """
    here = os.path.realpath(folder)
    if here in above:
        raise DataError(f"{folder}: a symbolic link that leads back to {here}, which contains it; remove the link")
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.startswith("."):
            continue
        try:
            is_folder = entry.is_dir()
        except OSError as error:  # ELOOP
            raise DataError(f"{entry.path}: a loop of symbolic links ({error.strerror}); remove the link") from None
        if is_folder:
            yield from image_paths(Path(entry.path), above | {here})
        else:
            yield Path(entry.path)

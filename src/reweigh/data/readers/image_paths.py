"""The files of a folder of images, by class and by split."""

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from reweigh.data.checks import listed
from reweigh.data.parts import SPLIT_FOLDERS, sub_folders
from reweigh.errors import DataError

log = logging.getLogger(__name__)


def class_folders(root: Path, class_names: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the sub-folders that are classes."""
    present = sub_folders(root)
    names = tuple(present if class_names is None else class_names)
    absent = [name for name in names if name not in present]
    if absent:
        raise DataError(
            f"{root}: no sub-folder {listed(map(repr, absent))} for the class of that name; if there are no images of "
            "it, create an empty one"
        )
    if not names:
        raise DataError(f"{root}: no sub-folders; put the images of each class in a sub-folder named after it")
    if others := sorted({*present} - {*names}):
        log.warning("%s: no class has the name of these sub-folders, which are left out: %s", root, listed(others))
    return names


def split_folder(folder: Path, split: str) -> Path:
    """The sub-folder of a split if the folder is divided into training and test parts, otherwise the folder itself.

    Raises:
        DataError: There is no such part, or there are both parts and other folders beside them.
    """
    present, parts = sub_folders(folder), _parts(folder)
    others = sorted({*present} - {name for names in parts.values() for name in names})
    if others and all(parts.values()):
        train, test = parts["train"][0], parts["test"][0]
        if {*sub_folders(folder / train)} & {*sub_folders(folder / test)}:
            raise DataError(
                f"{folder}: has parts {train} and {test} with the same classes, and also {listed(others)}; move that "
                f"elsewhere, or give the parts: --data {folder / train} data.test={folder / test}"
            )
    if others or not present:
        return folder
    if not parts[split]:
        raise DataError(f"{folder}: no {split} part; there are: {', '.join(present)}")
    return folder / parts[split][0]


def has_test_folder(folder: Path) -> bool:
    """Whether the folder is divided into training and test parts and has both."""
    return split_folder(folder, "train") != folder and bool(_parts(folder)["test"])


def _parts(folder: Path) -> dict[str, list[str]]:
    """The sub-folders with a name of each split, in upper or lower case; the usual name first."""
    present = sub_folders(folder)
    return {
        split: [name for usual in names for name in present if name.casefold() == usual]
        for split, names in SPLIT_FOLDERS.items()
    }


def image_paths(folder: Path, above: frozenset[str] = frozenset()) -> Iterator[Path]:
    """All files below a folder in a fixed order; links are followed, hidden files ignored.

    Raises:
        DataError: A link leads back to a folder that contains it.
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

"""The files and folders at a path: which are for training and which for testing, and the folders of classes."""

import glob
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from reweigh.data.dataset import listed
from reweigh.errors import DataError

log = logging.getLogger(__name__)
SAVED = "dataset_dict.json"  # in a folder that datasets.DatasetDict.save_to_disk has written
ARROW_SUFFIXES = (".arrow", ".parquet")
IGNORED = (".", "__MACOSX")
SPLIT_FOLDERS = {"train": ("train", "training"), "test": ("test", "testing", "val", "valid", "validation")}


def sub_folders(root: Path) -> list[str]:
    """The names of the sub-folders, sorted; hidden ones and what macOS adds to archives are ignored."""
    return sorted(entry.name for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith(IGNORED))


def arrow_files(path: Path) -> list[Path]:
    """The Parquet and Arrow files at a path, by name: the file itself, those in a folder, or what a pattern matches.

    A folder may have sub-folders ``data``, ``train``, ``test`` and the like; one with other sub-folders, such as those
    of classes, is something else, unless the package ``datasets`` saved it, which keeps any number of parts.
    """
    if path.is_dir():
        parts = {"data", *(name for names in SPLIT_FOLDERS.values() for name in names)}
        present = sub_folders(path)
        below = [name for name in present if name in parts]
        if below != present and not (path / SAVED).is_file():
            return []
        if present and not below:
            raise DataError(f"{path}: has the parts {', '.join(present)}, and none is called train; give one of them")
        found = [file for folder in (".", *below) for file in (path / folder).iterdir()]
    elif path.exists() or not glob.has_magic(str(path)):
        found = [path]
    else:
        found = map(Path, glob.glob(str(path)))
    return sorted(file for file in found if file.is_file() and file.name.endswith(ARROW_SUFFIXES))


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


def of_split(path: Path, split: str) -> list[Path]:
    """The Parquet and Arrow files of a split at a path."""
    parts = parts_of(arrow_files(path))
    if split not in parts:
        raise DataError(f"{path}: no {split} part; files for testing have names that begin with test or val")
    return parts[split]


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
    """The sub-folder of a split if the folder is divided into training and test parts, otherwise the folder itself."""
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
    """All files below a folder in a fixed order; links are followed, hidden files ignored."""
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

"""Which files at a path are for training, and which for testing."""

import glob
from collections.abc import Sequence
from pathlib import Path

from reweigh.errors import DataError

SAVED = "dataset_dict.json"  # in a folder that datasets.DatasetDict.save_to_disk has written
IGNORED = (".", "__MACOSX")
SPLIT_FOLDERS = {"train": ("train", "training"), "test": ("test", "testing", "val", "valid", "validation")}


def sub_folders(root: Path) -> list[str]:
    """The names of the sub-folders, sorted; hidden ones and what macOS adds to archives are ignored."""
    return sorted(entry.name for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith(IGNORED))


def archives_at(path: Path, suffix: str | tuple[str, ...]) -> list[Path]:
    """The files with this suffix at a path, by name: the file itself, those in a folder, or what a pattern matches.

    A folder may have sub-folders ``data``, ``train``, ``test`` and the like; one with other sub-folders, such as those
    of classes, is something else, unless the package ``datasets`` saved it, which keeps any number of parts.

    Raises:
        DataError: The package ``datasets`` saved it, with parts of other names only.
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


def of_split(path: Path, suffix: str | tuple[str, ...], split: str) -> list[Path]:
    """The files of a split at a path."""
    parts = parts_of(archives_at(path, suffix))
    if split not in parts:
        raise DataError(f"{path}: no {split} part; files for testing have names that begin with test or val")
    return parts[split]

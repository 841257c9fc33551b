"""A copy of a folder of images in which each image lies in the folder of its right class."""

import os
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from reweigh.data.parts import image_paths, split_folder
from reweigh.data.readers import image_list, reader_of
from reweigh.data.source import Source
from reweigh.errors import DataError
from reweigh.files.whole import writing


def is_folder_of_classes(source: Source) -> bool:
    """Whether the labels of the data are the names of the folders that images lie in."""
    return source.labels is None and source.path.is_dir() and reader_of(source.path) is image_list.FOLDER


def as_folder(source: Source | None, out: Path) -> bool:
    """Whether a corrected copy of the data becomes a folder: they are one, and its name has no ending."""
    return source is not None and not out.suffix and is_folder_of_classes(source)


def moves_file(out: Path) -> Path:
    """The list of images that lie elsewhere in a corrected folder; beside it, since it is not an image."""
    return out.with_name(f"{out.name}-moves.csv")


def check_room(out: Path, overwrite: bool) -> None:
    """Raise a DataError if a folder cannot be written, or only over something that was not written here."""
    if not out.exists() and not out.is_symlink():
        return
    if not overwrite:
        raise DataError(f"{out}: already exists; replace it with --overwrite, or choose another name")
    if out.is_symlink() or not out.is_dir() or not moves_file(out).is_file():
        raise DataError(
            f"{out}: not a corrected folder of before (no {moves_file(out).name} beside it), so it is not replaced; "
            "delete it yourself, or choose another name"
        )


def destinations(folder: Path, changes: Mapping[str, str], excluded: Collection[str]) -> dict[Path, Path]:
    """Where each file of a folder of classes goes, both relative to the folder.

    Files that change their class keep their name, unless the class has a file of that name already.

    Args:
        folder: The folder, one sub-folder per class; of parts ``train`` and ``test``, the first counts.
        changes: New class of an image, by its name relative to the folder of classes.
        excluded: Names of images to leave out.
    """
    root = split_folder(folder, "train")
    found: dict[Path, Path] = {}
    moved: dict[Path, str] = {}
    for file in image_paths(folder):
        here = file.relative_to(folder)
        name = str(file.relative_to(root)) if file.is_relative_to(root) else ""
        if name in changes:
            moved[here] = changes[name]
        elif name not in excluded:
            found[here] = here
    taken = {*found.values()}
    for here, label in moved.items():
        name = (folder / here).relative_to(root)
        inside = Path(*name.parts[1:])
        there, number = root.relative_to(folder) / label / inside, 1
        while there in taken:
            again = f"{inside.stem}-from-{name.parts[0]}{f'-{number}' if number > 1 else ''}{inside.suffix}"
            there, number = root.relative_to(folder) / label / inside.with_name(again), number + 1
        taken.add(there)
        found[here] = there
    return found


def write_folder(folder: Path, files: Mapping[Path, Path], out: Path, links: bool = False) -> None:
    """Write files to other places in a new folder, completely or not at all; a folder of before is replaced.

    Args:
        folder: Where the files are.
        files: Place of each file in ``folder`` and in ``out``.
        links: Whether to link to the files instead of copying them.

    Raises:
        StorageError: The folder cannot be written; what was there before remains.
    """
    out = out.absolute()
    part, before = (out.with_name(f".{out.name}.{os.getpid()}.{what}") for what in ("part", "before"))
    with writing(out):
        try:
            part.mkdir()
            for here, there in files.items():
                target = part / there
                target.parent.mkdir(parents=True, exist_ok=True)
                if links:
                    target.symlink_to((folder / here).resolve())
                else:
                    shutil.copy2(folder / here, target)
            if out.exists():
                out.rename(before)
            part.rename(out)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            if before.exists() and not out.exists():
                with suppress(OSError):
                    before.rename(out)
            raise
        shutil.rmtree(before, ignore_errors=True)

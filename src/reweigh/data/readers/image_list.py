"""Images with one sub-folder per class, or in one folder with a list of names and labels: a table, or lines."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reweigh.data.dataset import Dataset
from reweigh.data.parts import sub_folders
from reweigh.data.readers.image_files import check_pillow, suffixes
from reweigh.data.readers.images import ImageList, read_listed, read_to_predict
from reweigh.data.readers.reader import Form, Reader, Request, Unlabeled, UnlabeledReader
from reweigh.data.readers.table import column_groups, gaps_as_none, label_column
from reweigh.data.tables.cells import as_text
from reweigh.data.tables.frames import SUFFIXES, is_text, read_frame
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

import torch

from reweigh.data.checks import check, check_samples, listed, plural, raise_all
from reweigh.data.dataset import Reading
from reweigh.data.on_demand import standardize_by_some
from reweigh.data.parts import class_folders, has_test_folder, split_folder
from reweigh.data.readers.image_files import header
from reweigh.data.readers.images import (
    Image,
    Skipped,
    equal_files,
    find_images,
    in_form,
    pixels_of,
    shown,
    warn_of_skipped,
)

LINES = (".txt", ".lst", ".list")
TRIED = 5  # rows that say whether a column names images
LONGEST = 60  # characters of a line that are shown
FEW = 100_000  # bytes; a list is recognized by its start


def read_image_list(path: Path, request: Request) -> Dataset:
    """The listed images; see ``read_listed``."""
    check_pillow()
    found = find_list(path, request.source.labels, request.source.label, request.source.group)
    if found is None:
        raise DataError(
            f"{path}: images without labels; give a list of file names and labels (--labels FILE), or put the images "
            "of each class into a sub-folder named after it"
        )
    return read_listed(found, request, str(path))


def find_list(
    path: Path, labels: Path | None = None, label: str | None = None, group: str | None = None
) -> ImageList | None:
    """The list at a path, of a folder, or in a label file; None if there is none."""
    if path.is_file():
        found = _list_in(path, _around(path), label, group)
        if found is None and path.suffix in LINES and (lines := _lines(path)):
            raise DataError(
                f"{path}: a list of {len(lines):,} images, but none of the first {min(TRIED, len(lines))} is there, "
                f"such as {lines[0][0]}; put the list into the folder that its paths start from"
            )
        if found is not None and not any(found.labels):
            raise DataError(f"{path}: a list of images without labels; each line should be a path and a label")
        return found
    if not path.is_dir() or not any(_is_image(entry.name) for entry in path.iterdir()):
        return None
    lists = [labels] if labels else sorted(file for file in path.iterdir() if file.name.endswith((*SUFFIXES, *LINES)))
    found = [each for file in lists if (each := _list_in(file, [path], label, group)) is not None]
    if len(found) > 1:
        raise DataError(f"{path}: several lists of its images; name one with --labels FILE")
    return found[0] if found else None


def _list_in(file: Path, folders: Sequence[Path], label: str | None, group: str | None) -> ImageList | None:
    """The list in a file, if it names images in one of these folders."""
    named = _named_in(file, folders, label)
    if named is None:
        return None
    folder, names, rest = named
    if isinstance(rest, list):
        if group is not None:
            raise DataError(f"{file}: lines of a path and a label, without a column {group!r} for the group")
        return _listed(folder, names, rest)
    groups = None if group is None else column_groups(rest, group, str(file))
    rest = rest.drop(columns=[group] if group is not None else [])
    column = rest.columns[0] if len(rest.columns) == 1 else label_column(rest, label, str(file))
    return _listed(folder, names, rest[column])._replace(groups=groups)


def _named_in(
    file: Path, folders: Sequence[Path], label: str | None = None
) -> tuple[Path, Sequence[str], "list[str] | pd.DataFrame"] | None:
    """The folder and the names of the images that a file lists, and their labels or the other columns."""
    if file.suffix in LINES and (lines := _lines(file)):
        names, labels = zip(*lines, strict=True)
        folder = _folder(names, folders)
        return None if folder is None else (folder, names, list(labels))
    if not file.name.endswith(SUFFIXES) or not _may_name_images(file, folders):
        return None
    frame = read_frame(file)
    for column in frame.columns:
        names = as_text(frame[column])
        if column != label and (folder := _folder(names, folders)) is not None:
            return folder, names, frame.drop(columns=column)
    return None


def _around(file: Path) -> list[Path]:
    """The folders that the names in a list may start from: its own, and those in it."""
    return [file.parent, *(file.parent / name for name in sub_folders(file.parent))]


def _lines(file: Path) -> list[tuple[str, str]]:
    """Lines of an image and a label with a space, tab or comma between them; empty if they are something else.

    The label is empty where a line has none.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return []
    found = []
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line:
            continue
        pairs = [(name.strip(), label.strip()) for name, _, label in (line.rpartition(sep) for sep in "\t, ")]
        pair = next(((name, label) for name, label in pairs if _is_image(name)), (line, ""))
        if not _is_image(pair[0]):
            if len(found) < TRIED:
                return []
            raise DataError(
                f"{file}: line {number} is {line[:LONGEST]!r}; each line should be the path of an image and a label"
            )
        found.append(pair)
    return found


def _may_name_images(file: Path, folders: Sequence[Path]) -> bool:
    """Whether the start of a text table has the name of an image; any other table may."""
    if not is_text(file) or file.suffix not in (".csv", ".tsv", ".txt", ".tab"):
        return file.suffix == ".xlsx"
    with open(file, "rb") as start:
        text = start.read(FEW).decode("latin-1").casefold()
    if any(ending in text for ending in (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".webp")):
        return True
    first = [line.split(",")[0].strip('"') for line in text.splitlines()[1 : TRIED + 1]]
    return bool(first) and _folder(first, folders) is not None


def _folder(names: Sequence[str], folders: Sequence[Path]) -> Path | None:
    """The folder that has one of the first named images; endings may be left out."""
    few = [name for name in names[:TRIED] if name and len(name) < 200 and "\0" not in name]
    for folder in folders:
        if any(_is_image(name) and _is_file(folder / name) for name in few):
            return folder
        if any(_completed(name, folder) for name in few):
            return folder
    return None


def _listed(folder: Path, names: Sequence[str], labels: Any) -> ImageList:
    full = tuple(name if _is_image(name) else _completed(name, folder) or name for name in names)
    return ImageList(folder, full, [folder / name for name in full], gaps_as_none(labels))


def _completed(name: str, folder: Path) -> str | None:
    """The name with the ending of the file that has it."""
    endings = (".jpg", ".png", ".jpeg", ".bmp", ".webp", ".tif", ".JPG", ".PNG")
    return next((name + ending for ending in endings if _is_file(folder / (name + ending))), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _is_image(name: str) -> bool:
    return Path(name).suffix.lower() in suffixes()


def _recognizes(path: Path) -> bool:
    if find_spec("PIL") is None:
        return False
    try:
        listed = find_list(path) is not None
    except DataError:  # a list that is not complete; the user may have named its labels, and reading reports the rest
        listed = True
    return listed or (path.is_dir() and _is_flat(path))


def _names_images(path: Path) -> bool:
    return path.is_file() and find_spec("PIL") is not None and _named_in(path, _around(path)) is not None


def _to_predict(path: Path, form: Form) -> Unlabeled:
    named = _named_in(path, _around(path))
    assert named is not None
    folder, names, _ = named
    return read_to_predict(_listed(folder, names, []), form, path)


def _is_flat(path: Path) -> bool:
    return not sub_folders(path) and any(_is_image(entry.name) for entry in path.iterdir())


LISTED = Reader(
    about="images in one folder with a list of names and labels",
    recognizes=_recognizes,
    read=read_image_list,
    has_labels=lambda source: False,
    unlabeled=UnlabeledReader("a list of images", _names_images, _to_predict),
)


def read_image_folder(path: Path, request: Request) -> Dataset:
    """Every image below ``path/CLASS/``, as bytes (C, H, W); gray if all are gray.

    Files that cannot be read are left out, never silently: a warning is logged, and ``dataset.reading.skipped`` lists
    each with the reason. Images that fit in memory are decoded at once. Of a larger set only the headers are read now,
    and a file that turns out to be broken later raises an error with its name.
    """
    root = split_folder(path, request.split)
    what = str(root)
    check_pillow()
    names = class_folders(root, request.class_names)
    found, skipped = find_images(root, names)
    inputs, kept = pixels_of(found, skipped, request, what, class_mistakes(names, found, skipped, request))
    found = [found[place] for place in kept.tolist()]
    raise_all(class_mistakes(names, found, skipped, request), what)
    reading = Reading(
        names=tuple(shown(image.path, root) for image in found),
        skipped=warn_of_skipped(root, skipped, len(found)),
    )
    labels = torch.tensor([image.label for image in found])
    dataset = Dataset(
        inputs,
        labels,
        names,
        normalize=standardize_by_some(inputs),
        groups=equal_files([image.path for image in found]),
        reading=reading,
    )
    return (check if request.class_names is None else check_samples)(dataset, what)


def class_mistakes(names: Sequence[str], found: Sequence[Image], skipped: Skipped, request: Request) -> list[str]:
    """Each class without a readable image, and what its folder holds instead; a test set may lack classes."""
    filled = {image.label for image in found}
    if filled and request.class_names is not None:
        return []
    mistakes = []
    for label, name in enumerate(names):
        if label not in filled:
            broken = sorted(f"{path.name}: {why}" for path, (its, why) in skipped.items() if its == label)
            files = f"no readable image in its {plural(len(broken), 'file')} ({listed(broken)})"
            content = files if broken else "it is empty"
            mistakes.append(f"class {name!r}: {content}; add images or remove the folder")
    return mistakes


def read_images(path: Path, form: Form) -> Unlabeled:
    """One image or all images below a folder, in size and color of the training images."""
    check_pillow()
    root = path if path.is_dir() else path.parent
    found, skipped = find_images(path, ["."]) if path.is_dir() else ([Image(path, 0, header(path))], {})
    return in_form(found, skipped, root, form, path)


def _has_sub_folders(path: Path) -> bool:
    return path.is_dir() and bool(sub_folders(path))


def _may_hold_images(path: Path) -> bool:
    if path.is_dir() or find_spec("PIL") is None:
        return path.is_dir()
    return path.suffix.lower() in suffixes()


FOLDER = Reader(
    about="a folder of images with one sub-folder per class",
    recognizes=_has_sub_folders,
    read=read_image_folder,
    has_test=has_test_folder,
    unlabeled=UnlabeledReader("an image or a folder of images", _may_hold_images, read_images),
)

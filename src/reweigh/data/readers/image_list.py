"""Images with one sub-folder per class, or in one folder with a list of names and labels: a table, or lines."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reweigh.data.parts import class_folders, has_test_folder, image_paths, split_folder, sub_folders
from reweigh.data.readers.image_files import header, suffixes
from reweigh.data.readers.images import ImageList, image_reader, shown
from reweigh.data.readers.table import column_groups, gaps_as_none
from reweigh.data.source import Source, label_column
from reweigh.data.tables.cells import as_text
from reweigh.data.tables.frames import SUFFIXES, is_text, read_frame
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

LINES = (".txt", ".lst", ".list")
MAX_ROWS_TRIED = 5  # rows that say whether a column names images
MAX_SHOWN_CHARS = 60  # characters of a line
MAX_START_BYTES = 100_000  # a list is recognized by its start


def find_labeled(source: Source, split: str, class_names: Sequence[str] | None = None) -> ImageList:
    """The images of a list; see ``find_list``."""
    found = find_list(source.path, source.labels, source.label, source.group)
    if found is None:
        raise DataError(
            f"{source.path}: images without labels; give a list of file names and labels (--labels FILE), or put the "
            "images of each class into a sub-folder named after it"
        )
    return found


def find_list(
    path: Path, labels: Path | None = None, label: str | None = None, group: str | None = None
) -> ImageList | None:
    """The list at a path, of a folder, or in a label file; None if there is none."""
    if path.is_file():
        found = _list_in(path, _around(path), label, group)
        if found is None and path.suffix in LINES and (lines := _lines(path)):
            raise DataError(
                f"{path}: a list of {len(lines):,} images, but none of the first {min(MAX_ROWS_TRIED, len(lines))} is "
                f"there, such as {lines[0][0]}; put the list into the folder that its paths start from"
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
            if len(found) < MAX_ROWS_TRIED:
                return []
            raise DataError(
                f"{file}: line {number} is {line[:MAX_SHOWN_CHARS]!r}; each line should be the path of an "
                "image and a label"
            )
        found.append(pair)
    return found


def _may_name_images(file: Path, folders: Sequence[Path]) -> bool:
    """Whether the start of a text table has the name of an image; any other table may."""
    if not is_text(file) or file.suffix not in (".csv", ".tsv", ".txt", ".tab"):
        return file.suffix == ".xlsx"
    with open(file, "rb") as start:
        text = start.read(MAX_START_BYTES).decode("latin-1").casefold()
    if any(ending in text for ending in (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".webp")):
        return True
    first = [line.split(",")[0].strip('"') for line in text.splitlines()[1 : MAX_ROWS_TRIED + 1]]
    return bool(first) and _folder(first, folders) is not None


def _folder(names: Sequence[str], folders: Sequence[Path]) -> Path | None:
    """The folder that has one of the first named images; endings may be left out."""
    few = [name for name in names[:MAX_ROWS_TRIED] if name and len(name) < 200 and "\0" not in name]
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
    flat = path.is_dir() and not sub_folders(path) and any(_is_image(entry.name) for entry in path.iterdir())
    return listed or flat


def _names_images(path: Path) -> bool:
    return path.is_file() and find_spec("PIL") is not None and _named_in(path, _around(path)) is not None


def _listed_at(path: Path) -> ImageList:
    named = _named_in(path, _around(path))
    assert named is not None
    return _listed(named[0], named[1], [])


LISTED = image_reader(
    "images in one folder with a list of names and labels",
    _recognizes,
    find_labeled,
    ("a list of images", _names_images, _listed_at),
    has_labels=False,
)


def find_folders(source: Source, split: str, class_names: Sequence[str] | None = None) -> ImageList:
    """Every file below ``path/CLASS/``."""
    root = split_folder(source.path, split)
    classes = class_folders(root, class_names)
    found = [(path, name) for name in classes for path in image_paths(root / name)]
    names, labels = tuple(shown(path, root) for path, _ in found), [label for _, label in found]
    return ImageList(root, names, [path for path, _ in found], labels, classes, folders=True)


def _below(path: Path) -> ImageList:
    """One image, or all images below a folder."""
    if path.is_dir():
        files = list(image_paths(path))
        return ImageList(path, tuple(shown(file, path) for file in files), files, [])
    header(path)  # raises what is wrong with it
    return ImageList(path.parent, (path.name,), [path], [])


def _may_hold_images(path: Path) -> bool:
    if path.is_dir() or find_spec("PIL") is None:
        return path.is_dir()
    return path.suffix.lower() in suffixes()


FOLDER = image_reader(
    "a folder of images with one sub-folder per class",
    lambda path: path.is_dir() and bool(sub_folders(path)),
    find_folders,
    ("an image or a folder of images", _may_hold_images, _below),
    has_test=has_test_folder,
)

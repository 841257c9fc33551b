"""Read the data at a path: a table, arrays, IDX or CIFAR files, images in folders, lists or Parquet."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from reweigh.data.dataset import Dataset, input_mistakes, raise_all
from reweigh.data.labels.class_numbers import joined, warn_of_spellings
from reweigh.data.labels.label_file import label_values, override
from reweigh.data.labels.vote_files import with_votes
from reweigh.data.parts import SPLIT_FOLDERS
from reweigh.data.readers import image_list, image_rows, npz, published, table
from reweigh.data.readers.image_files import Resize
from reweigh.data.readers.reader import Form, Reader, Request, Unlabeled
from reweigh.data.source import FIELDS, Source, open_source
from reweigh.data.tables.decide import ColumnAs, Kind
from reweigh.data.tables.encoding import TextAs
from reweigh.data.tables.frames import is_table
from reweigh.errors import DataError
from reweigh.files.limits import check_file

logger = logging.getLogger(__name__)

# Asked in this order; the first that recognizes a path reads it.
READERS: dict[str, Reader] = {
    "image-list": image_list.LISTED,
    "parquet-images": image_rows.PARQUET,
    "table": table.READER,
    "arrays": npz.READER,
    "idx": published.IDX,
    "cifar": published.CIFAR,
    "image-folder": image_list.FOLDER,
}


def read(
    path: str | Path,
    *,
    columns: Mapping[str, Kind | ColumnAs] | None = None,
    labels: str | Path | None = None,
    charset: str | None = None,
    **how: Any,
) -> Dataset:
    """Recognize the format of the data at ``path`` and read them.

    Examples:
        >>> _ = Path("wine.csv").write_text("alcohol,kind\\n13.2,red\\n12.9,white\\n11.1,white\\n")
        >>> wine = read("wine.csv", label="kind")
        >>> wine
        Dataset(3 samples of shape (1,), 2 classes)
        >>> wine.class_names, wine.labels
        (('red', 'white'), tensor([0, 1, 1]))

    Args:
        path: A file, a folder, or a pattern that matches several files.
        columns: Kinds of some columns of a table, instead of the detected ones; "drop" leaves a column out;
            ``{"gap": -9999}`` says which number means a gap.
        labels: Label file (``.npy``, ``.csv``) that replaces the labels in the data. ``votes`` is a file of labels by
            several labelers, one row per vote (sample, labeler, label), or an export of a labeling tool.
        charset: Encoding of the text of a table, such as ``latin-1``; detected by default.
        how: Other attributes of ``Source``, such as ``label``, ``sep`` and ``group``, and of ``Request``, such as
            ``split``, ``size``, ``class_names`` and ``encoding``.

    Raises:
        DataError: The path does not exist, or holds a format that is unknown or data that are broken.
    """
    written = {name: how.pop(name) for name in FIELDS if name != "encoding" and name in how}
    written |= {"columns": columns, "labels": None if labels is None else Path(labels), "encoding": charset}
    written["votes"] = Path(written["votes"]) if written.get("votes") else None
    return read_files(open_source(path, **written), **how)


def read_files(source: Source, **how: Any) -> Dataset:
    """The samples of a source."""
    request = Request(source, **how)
    for name, value, allowed in (
        ("split", request.split, SPLIT_FOLDERS),
        ("text", request.text, get_args(TextAs)),
        ("resize", request.resize, get_args(Resize)),
    ):
        if value not in allowed:
            raise DataError(f"{name}: {value!r}; there are: {', '.join(allowed)}")
    path, labels = source.path, source.labels
    reader = reader_of(path)
    if source.group is not None and reader not in (table.READER, image_list.LISTED):
        raise DataError(f"{path}: no columns, so no group {source.group!r}; leave it out (groups need a table)")
    if source.votes is not None and (labels is not None or source.separator is not None):
        raise DataError(f"{source.votes}: votes take the place of other labels; leave out the labels or candidates")
    by_name = labels is not None and reader is image_list.LISTED  # matched by file name, not by order
    own_labels = labels is None or (not by_name and reader.has_labels(source))
    apart = source.votes is not None and reader is not table.READER  # votes for samples that have a label in the data
    dataset = reader.read(
        path,
        replace(
            request,
            labels=None if own_labels or by_name or labels is None else label_values(labels),
            class_names=None if source.join_labels or apart else request.class_names,
            unlabeled=source.unlabeled and (labels is None or not own_labels),
        ),
    )
    dataset = replace(dataset, reading=replace(dataset.reading, source=source))
    if apart and source.votes is not None:
        dataset = with_votes(dataset, source.votes, request.class_names, request.drop_unlabeled)
    if labels is not None and own_labels:
        new_classes = source.separator is not None or source.join_labels
        leave_out = request.drop_unlabeled and not source.unlabeled and source.separator is None
        dataset = override(dataset, labels, unlabeled=source.unlabeled or leave_out, new_classes=new_classes)
        if leave_out and not dataset.labeled.all():
            logger.warning("%s: %d samples without a label are left out", labels, int((~dataset.labeled).sum()))
            dataset = dataset.subset(dataset.labeled)
    if source.join_labels:
        return joined(dataset, request.class_names, str(path))
    if request.class_names is None:
        warn_of_spellings(dataset, str(path))
    return dataset


def read_unlabeled(path: str | Path, shape: tuple[int, ...], **form: Any) -> Unlabeled:
    """Read inputs to predict, in the form that the model was trained on; labels are ignored."""
    path = Path(path)
    check_exists(path)
    wanted = Form(tuple(shape), **form)
    is_row = wanted.encoding is not None  # then a table is a table, even if one of its columns names images
    known = [each for each in READERS.values() if not (is_row and each is image_list.LISTED)]
    readers = [each.unlabeled for each in known if each.unlabeled]
    for reader in readers:
        if reader.recognizes(path):
            found = reader.read(path, wanted)
            if found.frame is None or len(found.frame):  # a table without rows gives predictions without rows
                wrong = input_mistakes(found.inputs, len(found.inputs))
                raise_all(wrong if len(found.inputs) else ["there are no samples"], str(path))
            return found
    raise unknown(path, [reader.about for reader in readers])


def reader_of(path: Path) -> Reader:
    """The reader that recognizes a path."""
    check_exists(path)
    for reader in READERS.values():
        if reader.recognizes(path):
            return reader
    raise unknown(path, [reader.about for reader in READERS.values()])


def has_columns(path: Path) -> bool:
    """Whether labels at a path have names to choose from: columns of a table."""
    return is_table(path) or image_rows.holds_images(path)


def has_test_part(path: Path) -> bool:
    """Whether a path holds test samples in addition to the training samples."""
    return reader_of(path).has_test(path)


def check_exists(path: Path) -> None:
    """Raise a DataError if there is no such path, or a pipe or a device."""
    if not path.exists() and not is_table(path):
        layout = "; a folder holds a sub-folder of images for each class, or such folders in train and test"
        raise DataError(f"{path}: there is nothing at this path{'' if path.suffix else layout}")
    check_file(path)


def unknown(path: Path, formats: Sequence[str]) -> DataError:
    """The error for a path that no reader recognizes."""
    if path.is_dir() and not any(path.iterdir()):
        return DataError(f"{path}: the folder is empty; give images, with one sub-folder per class, or a table")
    kind = "folder" if path.is_dir() else "file"
    allowed = " or ".join(filter(None, (", ".join(formats[:-1]), formats[-1])))
    return DataError(f"{path}: not a {kind} that reweigh can read; give {allowed}")

"""Look at the user's data to choose a recipe; of images only the headers are read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch

from reweigh.data.labels.candidates import several_in_one
from reweigh.data.labels.class_numbers import encode
from reweigh.data.named.own_files import rows as split_rows
from reweigh.data.parts import class_folders, split_folder
from reweigh.data.readers import has_test_part
from reweigh.data.readers.image_archives import find_parquet_images, find_shards, holds_images, is_shards
from reweigh.data.readers.image_files import check_pillow
from reweigh.data.readers.image_list import find_list
from reweigh.data.readers.images import equal_files, find_images, headers
from reweigh.data.readers.published import find_idx_pair, find_layout
from reweigh.data.splits import joined
from reweigh.data.tables.decide import ReadAs
from reweigh.data.tables.frames import is_table
from reweigh.fit.source import data_root
from reweigh.plan import Part
from reweigh.plan.check import check_slot
from reweigh.plan.choose import Facts, feature_width, features
from reweigh.plan.schema import SECTIONS

SMALL = 2  # samples of a class
LARGEST = 64  # side in pixels that the small network is made for
PRETRAINED = 224  # and that pretrained networks are made for


class Look(NamedTuple):
    """What is in the user's data.

    Attributes:
        facts: What the choice of a plan depends on.
        held_out: Number of samples that are held out for testing; None if there is a separate test set.
        sizes: Number of different image sizes.
        size: Side in pixels that images are resized to; None keeps their size.
        frozen: Whether images pass a frozen network once, so that they need not stay in memory.
        several_in_one: A class that looks like a set of candidates although --candidates was not given, and the
            separator between them.
        readings: How the columns of a table are read.
        small: Classes with one or two training samples.
    """

    facts: Facts
    held_out: int | None
    sizes: int = 1
    size: int | None = None
    frozen: bool = False
    several_in_one: tuple[str, str] | None = None
    readings: Sequence[ReadAs] = ()
    small: Sequence[str] = ()


def look(given: Mapping[str, Any]) -> Look | None:
    """What the choice of a plan depends on; None if section [data] is wrong, which the check of the recipe reports.

    Args:
        given: The sections that the user has written.
    """
    parts, mistakes = check_slot(given["data"], "data", SECTIONS["data"])
    if mistakes:
        return None
    found = look_at_images(parts[0], data_root(parts[0].added["root"]), given)
    if found is not None:
        return found
    train, test = parts[0].bind()(data_root(parts[0].added["root"]))
    held_out = None if parts[0].name != "files" or train.origin is None else len(test)
    several = None if train.candidates is not None else several_in_one(train.class_names)
    readings = train.reading.encoding.readings if train.reading.encoding else ()
    sizes = zip(train.class_names, train.class_sizes.tolist(), strict=True)
    small = [name for name, size in sizes if 0 < size <= SMALL]
    return Look(Facts.of(train), held_out, several_in_one=several, readings=readings, small=small)


def look_at_images(part: Part, root: Path, given: Mapping[str, Any]) -> Look | None:
    """Look at a folder of images by their headers; None if the data are something else."""
    path = Path(root, part.options.get("path") or "")
    if part.name != "files" or part.options["separator"]:
        return None  # folder names are not the classes
    labels = part.options["labels"] and Path(root, part.options["labels"])
    rows: list[int] = []
    if holds_images(path):
        by_list = find_parquet_images(path, label=part.options["label"])
    elif is_shards(path):
        by_list = find_shards(path, label=part.options["label"])
    else:
        by_list = find_list(path, labels, part.options["label"], part.options["group"])
    if by_list is not None:
        images, _, rows = headers(by_list)
        numbers, names = encode([by_list.labels[row] for row in rows], by_list.class_names, str(path))
        found = [image._replace(label=label) for image, label in zip(images, numbers.tolist(), strict=True)]
    else:
        if not path.is_dir() or is_table(path) or find_layout(path) or find_idx_pair(path, "train"):
            return None
        if not any(entry.is_dir() for entry in path.iterdir()):
            return None  # nothing known is in it; reading reports that
        check_pillow()
        folder = split_folder(path, "train")
        names = class_folders(folder, None)
        found, _ = find_images(folder, names)
    if not found:
        return None
    sizes = Counter(image.header[:2] for image in found)
    height, width = next(iter(sizes))
    channels = 1 if all(image.header.gray for image in found) else 3
    usual = round(median(min(image.header[:2]) for image in found))
    plain = Facts(len(found), (channels, usual, usual), (), images=True, photos=channels == 3, pixels=True)
    frozen = feature_width(features(plain, given), given) is not None
    size = asked = part.options["size"]
    largest = PRETRAINED if frozen else LARGEST
    if asked is None and (len(sizes) > 1 or max(height, width) > largest):
        size = min(largest, usual)
    shape = (channels, size or height, size or width)
    has_test = part.options["test"] or has_test_part(path)
    labels, held_out = torch.tensor([image.label for image in found]), None
    if not has_test:
        groups = by_list.groups[rows] if by_list is not None and by_list.groups is not None else None
        together = joined(groups, equal_files([image.path for image in found]))
        train, test = split_rows(labels, part.options["test_fraction"], part.options["split_seed"], together)
        labels, held_out = labels[train], len(test)
    kept = torch.bincount(labels[labels >= 0], minlength=len(names)).tolist()
    samples = sum(kept)
    facts = plain._replace(samples=samples, shape=shape, class_sizes=tuple(kept))
    small = [name for name, size in zip(names, kept, strict=True) if size <= SMALL]
    return Look(facts, held_out, len(sizes), None if asked else size, frozen, small=small)

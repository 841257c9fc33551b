"""Look at the user's data as far as a recipe for them must know; of images only the headers are read."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from reweigh.recipes.recipe import Part

LARGEST = 64  # pixels of a side that the small network is made for


class Facts(NamedTuple):
    """What the rules look at.

    Attributes:
        samples: training samples.
        held_out: samples of the data that are kept for judging; None if there are others for it.
        shape: of one of them.
        photos: images of bytes in color; mirrored and shifted they are still what they were, unlike digits.
        class_sizes: training samples of each class, in order of the classes.
        sizes: how many different sizes the images have.
        size: what they are resized to; None leaves them.
        candidates: samples have sets of labels.
        several_in_one: a class that seems to be such a set, though nobody said so.
    """

    samples: int
    held_out: int | None
    shape: tuple[int, ...]
    photos: bool
    class_sizes: tuple[int, ...]
    sizes: int = 1
    size: int | None = None
    candidates: bool = False
    several_in_one: str | None = None


UNKNOWN = Facts(2, None, (1,), False, (1, 1))


def look(section: Mapping[str, Any]) -> Facts | None:
    """What the rules must know of the data; None if the section is wrong, which the check of the recipe will tell.

    Raises:
        DataError: the data cannot be read.
    """
    from reweigh.recipes.biased_data import data_root
    from reweigh.recipes.check import check_slot
    from reweigh.recipes.schema import SECTIONS

    parts, mistakes = check_slot(section, "data", SECTIONS["data"])
    if mistakes:
        return None
    facts = look_at_images(parts[0], data_root(parts[0].added["root"]))
    if facts is not None:
        return facts
    import torch

    from reweigh.data.labels.candidates import several_in_one

    train, test = parts[0].bind()(data_root(parts[0].added["root"]))
    photos = train.dtype == torch.uint8 and train.is_images and train.shape[0] == 3
    held_out = None if parts[0].name != "files" or train.origin is None else len(test)
    sizes = tuple(train.class_sizes.tolist())
    if train.candidates is not None:
        return Facts(len(train), held_out, train.shape, photos, sizes, candidates=True)
    return Facts(len(train), held_out, train.shape, photos, sizes, several_in_one=several_in_one(train.class_names))


def look_at_images(part: "Part", root: Path) -> Facts | None:
    """The facts of a folder of images by the headers of the files; None if the data are something else."""
    from reweigh.data.readers import has_test_part
    from reweigh.data.readers.cifar import find_layout
    from reweigh.data.readers.found_images import find_images
    from reweigh.data.readers.idx import find_idx_pair
    from reweigh.data.readers.image_files import check_pillow
    from reweigh.data.readers.image_paths import class_folders, split_folder

    path = Path(root, part.options.get("path") or "")
    if part.name != "files" or not path.is_dir() or find_layout(path) or find_idx_pair(path, "train"):
        return None
    if part.options["separator"] or not any(entry.is_dir() for entry in path.iterdir()):
        return None  # names of folders are not the classes, or nothing known in it; reading tells
    check_pillow()
    folder = split_folder(path, "train")
    names = class_folders(folder, None)
    found, _ = find_images(folder, names)
    if not found:
        return None
    sizes = Counter(image.header[:2] for image in found)
    height, width = next(iter(sizes))
    size = given = part.options["size"]
    if given is None and (len(sizes) > 1 or max(height, width) > LARGEST):
        size = min(LARGEST, round(median(min(image.header[:2]) for image in found)))
    shape = (1 if all(image.header.gray for image in found) else 3, size or height, size or width)
    has_test = part.options["test"] or has_test_part(path)
    share = 1.0 if has_test else 1 - part.options["test_fraction"]
    counts = Counter(image.label for image in found)
    kept = [round(counts[label] * share) for label in range(len(names))]
    samples = sum(kept)
    held_out = None if has_test else len(found) - samples
    return Facts(samples, held_out, shape, shape[0] == 3, tuple(kept), len(sizes), None if given else size)

"""Images that were found, with their labels: headers first, then pixels in memory or read on demand."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reweigh.data.dataset import Dataset, Reading, check, check_samples, listed, plural, raise_all
from reweigh.data.inputs import Inputs, is_image
from reweigh.data.labels.class_numbers import encode
from reweigh.data.on_demand import DEFAULT_DISK_GB, OnDemand, fits, standardize_by_some
from reweigh.data.readers.image_files import File, Header, Resize, check_pillow, decode, header, image_errors, reason
from reweigh.data.readers.reader import Form, Reader, Request, Unlabeled, UnlabeledReader, describe
from reweigh.data.source import Source
from reweigh.data.splits import equal, joined
from reweigh.errors import DataError

log = logging.getLogger(__name__)
MIN_SHARED_FILES = 2000  # the headers of fewer are read in less than a second
HEADERS_AT_ONCE = 500


def headers_of(files: Sequence[File]) -> list[Header | str]:
    """The header of each image, or why it has none; those of many files are read by several processes."""
    if len(files) < MIN_SHARED_FILES:
        return [_header_or_reason(file) for file in files]

    def one(row: int) -> Tensor:
        found = _header_or_reason(files[row])
        return torch.tensor((-1.0, -1.0, -1.0) if isinstance(found, str) else tuple(map(float, found)))

    source = OnDemand(one, len(files), (3,), torch.float32)
    rows = torch.cat(list(source.ahead(torch.arange(len(files)).split(HEADERS_AT_ONCE))))
    return [
        Header(int(height), int(width), gray > 0) if height >= 0 else _header_or_reason(file)
        for file, (height, width, gray) in zip(files, rows.tolist(), strict=True)
    ]


def _header_or_reason(file: File) -> Header | str:
    try:
        return header(file)
    except DataError as error:
        return reason(error.__cause__).removeprefix(f"{file}: ")


class Image(NamedTuple):
    """A file that has the header of an image."""

    path: File
    header: Header


Skipped = dict[File, str]  # file -> why it is left out


def read_pixels(
    found: Sequence[Image],
    shape: tuple[int, int, int],
    memory_gb: float,
    skipped: Skipped,
    resize: Resize,
    disk_gb: float = DEFAULT_DISK_GB,
) -> tuple[Inputs, Tensor]:
    """The pixels of the images that can be read, and which these are: indices into ``found``, shape (N,).

    What fits in memory is decoded now, and a file that turns out to be broken is added to ``skipped``. Otherwise files
    are decoded on demand, and a broken one raises a DataError with its name then.
    """
    channels, *size = shape
    paths = [image.path for image in found]
    if not fits(len(found), shape, torch.uint8, memory_gb):
        form = f"{shape} {resize}".encode()

        def content(row: int) -> tuple[bytes, bytes]:
            with image_errors(paths[row]):
                return form, paths[row].read_bytes()

        def decoded(row: int) -> Tensor:
            return decode(paths[row], (size[0], size[1]), channels, resize)

        return OnDemand(decoded, len(paths), shape, content=content, disk_gb=disk_gb), torch.arange(len(found))
    good = torch.ones(len(found), dtype=torch.bool)

    def read_one(row: int) -> Tensor:
        try:
            return decode(paths[row], (size[0], size[1]), channels, resize)
        except DataError as error:
            good[row] = False
            skipped[paths[row]] = reason(error.__cause__)
            return torch.zeros(shape, dtype=torch.uint8)

    pixels = OnDemand(read_one, len(found), shape).in_memory()
    return pixels if bool(good.all()) else pixels[good], good.nonzero().flatten()


def shown(file: File, root: Path) -> str:
    """The name of a file in messages and tables."""
    if not isinstance(file, Path):
        return file.name
    return str(file.relative_to(root) if file.is_relative_to(root) else file)


def warn_of_skipped(root: Path, skipped: Skipped, num_found: int) -> tuple[str, ...]:
    """Log a warning that lists the files that were left out, and return each with its reason."""
    lines = tuple(sorted(f"{shown(path, root)}: {why}" for path, why in skipped.items()))
    if lines:
        log.warning("%s: %d of %d files left out: %s", root, len(lines), len(lines) + num_found, listed(lines))
    return lines


def size_mistakes(found: Sequence[Image], wanted: tuple[int, int] | None) -> list[str]:
    """Images of different sizes and no size to resize them to, or a size below 1."""
    if wanted is not None:
        return [] if min(wanted) > 0 else [f"size: {wanted}; give a height and a width of 1 or more"]
    sizes = Counter(image.header[:2] for image in found)
    if len(sizes) <= 1:
        return []
    usual, _ = sizes.most_common(1)[0]
    odd = next(image.path for image in found if image.header[:2] != usual)
    counted = listed(f"{count} of {height} x {width}" for (height, width), count in sizes.most_common())
    return [
        f"images of {len(sizes)} different sizes: {counted}; for example {odd.parent.name}/{odd.name}. "
        f"Give a size to resize them to, such as {min(usual)}"
    ]


def equal_files(files: Sequence[File]) -> Tensor | None:
    """The files with equal content as groups, shape (N,); None if there are none. Only files of equal size are read."""
    sizes = [file.stat().st_size if isinstance(file, Path) else file.size for file in files]
    several = {size for size, count in Counter(sizes).items() if count > 1}
    return equal(
        file.read_bytes() if size in several else f"file {number}".encode()
        for number, (file, size) in enumerate(zip(files, sizes, strict=True))
    )


class ImageList(NamedTuple):
    """Images with their labels.

    Attributes:
        folders: Whether classes are folders, each of which should hold images, and images have no other order.
    """

    root: Path
    names: tuple[str, ...]
    files: Sequence[File]
    labels: list[Any]
    class_names: tuple[str, ...] | None = None
    groups: Tensor | None = None
    folders: bool = False

    def numbers(
        self, rows: Sequence[int], what: str, class_names: Sequence[str] | None = None
    ) -> tuple[Tensor, tuple[str, ...]]:
        """The labels of some images as class numbers, and the class names; by default those that these images have."""
        given = [self.labels[row] for row in rows]
        if self.folders and self.class_names is not None:
            number = {name: label for label, name in enumerate(self.class_names)}
            return torch.tensor([number[name] for name in given]), self.class_names
        used = self.class_names and [name for name in self.class_names if name in set(given)]
        return encode(given, class_names or used, f"{what}: labels")


def read_listed(found: ImageList, request: Request, what: str) -> Dataset:
    """The listed images as bytes (C, H, W); gray if all are gray.

    Files that are absent or cannot be read are left out with a warning, and so are images without a label.
    """
    images, skipped, rows = headers(found)
    mistakes = _empty_folders(found, rows, skipped, request)
    if not images and not mistakes:
        trouble = f"can be read in {found.root}" if any(label is not None for label in found.labels) else "has a label"
        raise DataError(f"{what}: none of its {plural(len(found.names), 'listed image')} {trouble}")
    wanted = (request.size, request.size) if isinstance(request.size, int) else request.size
    raise_all([*mistakes, *size_mistakes(images, wanted)], what)
    shape = (1 if all(image.header.gray for image in images) else 3, *(wanted or images[0].header[:2]))
    inputs, kept = read_pixels(images, shape, request.memory_gb, skipped, request.resize, request.disk_gb)
    origin = torch.tensor(rows)[kept]
    raise_all(_empty_folders(found, origin.tolist(), skipped, request), what)
    labels, names = found.numbers(origin.tolist(), what, request.class_names)
    if found.folders:
        found = found._replace(names=tuple(found.names[row] for row in origin.tolist()))
        origin = torch.arange(len(kept))
    sizes = [(0, 0)] * len(found.names)
    for row, place in zip(origin.tolist(), kept.tolist(), strict=True):
        sizes[row] = images[place].header[:2]
    files = equal_files([images[place].path for place in kept.tolist()])
    dataset = Dataset(
        inputs,
        labels,
        names,
        normalize=standardize_by_some(inputs),
        groups=files if found.groups is None else joined(found.groups[origin], files),
        origin=None if len(origin) == len(found.names) else origin,
        reading=Reading(found.names, warn_of_skipped(found.root, skipped, len(kept)), sizes=tuple(sizes)),
    )
    return (check if request.class_names is None else check_samples)(dataset, what)


def _empty_folders(found: ImageList, rows: Sequence[int], skipped: Skipped, request: Request) -> list[str]:
    """Each class without a readable image, and what its folder holds instead; a test set may lack classes."""
    filled = {found.labels[row] for row in rows}
    if not found.folders or (filled and request.class_names is not None):
        return []
    mistakes = []
    for name in [name for name in found.class_names or () if name not in filled]:
        files = [file for file, label in zip(found.files, found.labels, strict=True) if label == name]
        broken = sorted(f"{Path(file.name).name}: {skipped[file]}" for file in files)
        content = (
            f"no readable image in its {plural(len(broken), 'file')} ({listed(broken)})" if broken else "it is empty"
        )
        mistakes.append(f"class {name!r}: {content}; add images or remove the folder")
    return mistakes


def headers(found: ImageList) -> tuple[list[Image], Skipped, list[int]]:
    """The images that have a label and a readable header, the files that do not, and the row of each image."""
    labeled = [row for row, label in enumerate(found.labels) if label is not None]
    if gaps := len(found.labels) - len(labeled):
        log.warning("%s: %s without a label left out", found.root, plural(gaps, "image"))
    files = [found.files[row] for row in labeled]
    images: list[Image] = []
    rows: list[int] = []
    skipped: Skipped = {}
    for row, file, its in zip(labeled, files, headers_of(files), strict=True):
        if isinstance(its, Header):
            images.append(Image(file, its))
            rows.append(row)
        else:
            gone = isinstance(file, Path) and not file.exists()
            skipped[file] = "there is no such file" if gone else its
    return images, skipped, rows


def read_to_predict(listing: ImageList, form: Form, path: Path) -> Unlabeled:
    """The images in size and color of those that the model was trained on; labels are ignored."""
    check_pillow()
    if not is_image(form.shape) or form.shape[0] not in (1, 3) or not form.raw_bytes:
        raise form.mismatch(path, "images")
    root = listing.root
    found, skipped, _ = headers(listing._replace(labels=[0] * len(listing.names)))
    channels, height, width = form.shape
    inputs, kept = read_pixels(found, (channels, height, width), form.memory_gb, skipped, form.resize)
    found = [found[place] for place in kept.tolist()]
    if not found:
        broken = listed(sorted(f"{shown(file, root)}: {why}" for file, why in skipped.items()))
        raise DataError(f"{path}: no readable image{f' ({broken})' if broken else ''}; give {describe(form.shape)}")
    warn_of_skipped(root, skipped, len(found))
    if other := sum(image.header[:2] != (height, width) for image in found):
        log.info("%s: %d of %d images are resized to %d x %d", path, other, len(found), height, width)
    if colored := sum(channels == 1 and not image.header.gray for image in found):
        log.info("%s: %d of %d images lose their color; the model was trained in gray", path, colored, len(found))
    return Unlabeled(inputs, tuple(shown(image.path, root) for image in found))


def image_reader(
    about: str,
    recognizes: Callable[[Path], bool],
    find: Callable[[Source, str, Sequence[str] | None], ImageList],
    unlabeled: tuple[str, Callable[[Path], bool], Callable[[Path], ImageList]],
    has_labels: bool = True,
    has_test: Callable[[Path], bool] = lambda path: False,
) -> Reader:
    """The reader of a format of images.

    Args:
        find: The images of a part of a source, "train" or "test", with their labels; and the class names, if known.
        unlabeled: As for ``UnlabeledReader``, with a function that finds the images at a path.
    """

    def images(source: Source, split: str, class_names: Sequence[str] | None = None) -> ImageList:
        check_pillow()
        return find(source, split, class_names)

    def read(path: Path, request: Request) -> Dataset:
        found = images(request.source, request.split, request.class_names)
        return read_listed(found, request, str(found.root if found.folders else path))

    def to_predict(path: Path, form: Form) -> Unlabeled:
        check_pillow()
        return read_to_predict(unlabeled[2](path), form, path)

    others = UnlabeledReader(unlabeled[0], unlabeled[1], to_predict)
    return Reader(about, recognizes, read, lambda source: has_labels, has_test, others, images)

"""The benchmark datasets: where their official files are, how to get and to read them; and scikit-learn's digits."""

import logging
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import torch
import torch.nn.functional as F
from annotated_types import Gt, Lt

from reweigh.data.arrays import from_arrays
from reweigh.data.dataset import Dataset, Splits
from reweigh.data.inputs import Standardize, standardize_like
from reweigh.data.labels.label_file import label_values, read_labels
from reweigh.data.readers.published import LAYOUTS, STEMS, find_idx_pair, idx_names, read_cifar, read_idx
from reweigh.data.splits import beyond, part
from reweigh.errors import DataError
from reweigh.names import plural, suggestion

log = logging.getLogger(__name__)
IMAGES_AT_ONCE = 5_000  # images that are shrunk at a time
BY_CHANCE = 1.5  # times the share of labels that agree if they are shuffled
Size = Annotated[int, Gt(0)] | None

# Class names, and mean and standard deviation of the training pixels in [0, 1].
MNIST_FAMILY = {
    "mnist": (tuple("0123456789"), 0.1307, 0.3081),
    "fashion-mnist": (
        ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"),
        0.2860,
        0.3530,
    ),
    "kmnist": (("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"), 0.1918, 0.3483),
}


def shrunk(images: Dataset, size: int) -> Dataset:
    """Images of ``size`` x ``size`` pixels, whose pixels are means; bytes stay bytes."""
    side = images.shape[-1]
    if size > side:
        raise DataError(f"data.size: {size} pixels, but the images have {side}; they can only be made smaller")
    assert isinstance(images.inputs, torch.Tensor)
    parts = [
        F.adaptive_avg_pool2d(some.float(), size).round().to(some.dtype) for some in images.inputs.split(IMAGES_AT_ONCE)
    ]
    return replace(images, inputs=torch.cat(parts))


def official_files(name: str, about: str) -> Callable[..., Splits]:
    """The function that reads the dataset called ``name``; ``about`` describes it in one line."""

    def read(
        root: Path,
        *,
        train_size: Size = None,
        test_size: Size = None,
        held_out: Size = None,
        first: Size = None,
        labels: str | None = None,
        size: Size = None,
    ) -> Splits:
        """The official training and test images.

        Args:
            root: The data root, which contains the folder of the dataset.
            train_size: Number of training samples, with the same share of each class, and the same for all runs; all by
                default.
            test_size: Number of test samples, with the same share of each class; all by default.
            held_out: Test on this many training samples beyond ``train_size`` instead of the test samples, to choose
                settings without looking at the test set. They are the same for every bias and seed of a run.
            first: Number of training samples to keep, in the official order; published label files
                for feature-dependent noise are for the first 45,000 images of CIFAR.
            labels: A label file for these training samples (human re-annotations); the official labels become the
                true ones.
            size: Pixels of each side that images are shrunk to, for experiments in a fraction of the time: a pixel is
                the mean of those that it stands for. They are kept as they are by default.
        """
        folder = folder_of(name, root)
        if name in MNIST_FAMILY:
            classes, mean, std = MNIST_FAMILY[name]
            like = {"class_names": classes, "normalize": Standardize([mean], [std])}
            pairs = [pair for split in STEMS if (pair := find_idx_pair(folder, split))]  # the folder is complete
            train, test = (from_arrays(*map(read_idx, pair), **like, what=str(pair[0])) for pair in pairs)
        else:
            train, test = (read_cifar(folder, split) for split in ("train", "test"))
        if size is not None:
            train, test = shrunk(train, size), shrunk(test, size)
        if first is not None:
            if first > len(train):
                raise DataError(f"data.first: {first} samples, but the training set has {len(train)}")
            train = train.subset(torch.arange(first))
        if labels is not None:
            number = len(label_values(labels))
            if number < len(train):
                raise DataError(
                    f"data.labels: {labels} has {plural(number, 'label')} for {len(train):,} training images; if they "
                    "belong to the first ones, as in the published files for feature-dependent noise, add "
                    f"data.first={number}"
                )
            own = train.labels
            train = train.with_labels(read_labels(labels, len(train), train.class_names))
            agree = float((train.labels == own).double().mean())
            if agree < BY_CHANCE / train.num_classes:
                log.warning(
                    "%s: only %.1f %% of its labels are the official ones, about as many as by chance; is it in the "
                    "order of the official files?",
                    labels,
                    100 * agree,
                )
        if held_out is not None:
            test = beyond(train, train_size, held_out)
        return Splits(part(train, train_size, "train_size"), part(test, test_size, "test_size"))

    read.__doc__ = f"{about}\n\n        {read.__doc__}"
    read.__name__ = read.__qualname__ = name.replace("-", "_")
    return read


def digits(
    root: Path,
    *,
    test_fraction: Annotated[float, Gt(0), Lt(1)] = 0.3,
    train_size: Annotated[int, Gt(0)] | None = None,
) -> Splits:
    """Handwritten digits, 1,797 images of 8 x 8 in gray that come with scikit-learn, for experiments that take seconds.

    Args:
        root: Not used; no file is read.
        test_fraction: Share of the images to test on, the same of each class.
        train_size: Number of training samples, with the same share of each class; all by default.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, labels = load_digits(return_X_y=True)
    images = torch.from_numpy(pixels).reshape(-1, 1, 8, 8).mul_(255 / 16).round_().byte()  # 17 gray levels, 0 to 16
    labels = torch.from_numpy(labels).long()
    train, test = train_test_split(
        torch.arange(len(labels)).numpy(), test_size=test_fraction, stratify=labels.numpy(), random_state=0
    )
    train, test = torch.from_numpy(train).sort().values, torch.from_numpy(test).sort().values
    everything = Dataset(images, labels, tuple("0123456789"), normalize=standardize_like(images[train]))
    return Splits(part(everything.subset(train), train_size, "train_size"), everything.subset(test))


log = logging.getLogger(__name__)
Progress = Callable[[str, int, int | None], None]  # file, bytes so far, total bytes if the server says
DOWNLOAD_BYTES = 1 << 16  # at a time
TIMEOUT_SECONDS = 30  # seconds without a byte


class Source(NamedTuple):
    """The official files of a dataset.

    Attributes:
        downloads: Name -> MD5 as published; a ``.tar.gz`` contains the folder itself.
    """

    folder: str
    url: str
    downloads: dict[str, str]
    files: tuple[str, ...]


def of_mnist_family(folder: str, url: str, *checksums: str) -> Source:
    """Four gzipped IDX files."""
    files = tuple(name for split in STEMS for name in idx_names(split))
    return Source(folder, url, {f"{name}.gz": md5 for name, md5 in zip(files, checksums, strict=True)}, files)


def of_cifar(name: str, folder: str, archive: str, md5: str) -> Source:
    """One archive of binary files."""
    layout = LAYOUTS[name]
    files = (*layout.splits["train"], *layout.splits["test"], layout.names)
    return Source(folder, "https://www.cs.toronto.edu/~kriz/", {archive: md5}, files)


SOURCES: dict[str, Source] = {
    "mnist": of_mnist_family(
        "mnist",
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ),
    "fashion-mnist": of_mnist_family(
        "fashion-mnist",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "25c81989df183df01b3e8a0aad5dffbe",
        "bef4ecab320f06d8554ea6380940ec79",
        "bb300cfdad3c16e7a12a480ee83cd310",
    ),
    "kmnist": of_mnist_family(
        "kmnist",
        "http://codh.rois.ac.jp/kmnist/dataset/kmnist/",
        "bdb82020997e1d708af4cf47b453dcf7",
        "e144d726b3acfaa3e44228e80efcd344",
        "5c965bf0a639b31b8f53240b1b52f4d7",
        "7320c461ea6c1c855c0b718fb2a4b134",
    ),
    "cifar10": of_cifar(
        "cifar10", "cifar-10-batches-bin", "cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"
    ),
    "cifar100": of_cifar("cifar100", "cifar-100-binary", "cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"),
}


def missing(name: str, root: str | Path) -> list[str]:
    """The files of a dataset that are missing below the root."""
    source = SOURCES[name]
    folder = Path(root, source.folder)
    return [file for file in source.files if not (folder / file).is_file() and not (folder / f"{file}.gz").is_file()]


def folder_of(name: str, root: str | Path) -> Path:
    """The complete folder of a dataset."""
    folder = Path(root, SOURCES[name].folder)
    absent = missing(name, root)
    if absent:
        raise DataError(
            f"{name}: {', '.join(absent)} not found; they belong in {folder.absolute()}. "
            f"To download them: reweigh data get {name} --root {root}"
        )
    return folder


def get(name: str, root: str | Path, *, mirror: str | None = None, progress: Progress | None = None) -> Path:
    """Download the missing files of a dataset.

    Files that exist are not touched. An interrupted download is continued by the next call; one with a wrong checksum
    is deleted.
    """
    if name == "digits":
        raise DataError("digits: nothing to download; they come with scikit-learn")
    if name not in SOURCES:
        raise DataError(
            f"no dataset named {name!r} to download; there are: {', '.join(sorted(SOURCES))}."
            f"{suggestion(name, SOURCES)}"
        )
    source, folder = SOURCES[name], Path(root, SOURCES[name].folder)
    absent = missing(name, root)
    if not absent:
        log.info("%s: all files are in %s already", name, folder)
        return folder
    for file, md5 in source.downloads.items():
        url = f"{(mirror or source.url).rstrip('/')}/{file}"
        if file.endswith(".tar.gz"):
            archive = fetch(url, md5, Path(root, file), progress)
            unpack(archive, folder)
            archive.unlink()
        elif file.removesuffix(".gz") in absent:
            fetch(url, md5, folder / file, progress)
    still = missing(name, root)
    if still:
        raise DataError(
            f"{name}: {', '.join(still)} missing in what {mirror or source.url} provided; "
            f"download them by hand into {folder.absolute()}"
        )
    return folder


def fetch(url: str, md5: str, target: Path, progress: Progress | None = None) -> Path:
    """Download one file with pooch; it appears under its name only if the checksum is right."""
    try:
        import pooch
        import requests
    except ImportError:
        raise DataError("downloading needs pooch; install it: pip install 'reweigh[data]'") from None

    def resumable(*asked: Any, **_: Any) -> None:  # pooch passes the URL, a temporary file, itself
        download(url, target.with_name(target.name + ".part"), Path(asked[1]), progress)

    pooch.get_logger().setLevel("WARNING")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        pooch.retrieve(url, f"md5:{md5}", fname=target.name, path=target.parent, downloader=resumable)
    except requests.RequestException as error:
        raise DataError(
            f"{url}: could not be downloaded ({type(error).__name__}: {error}); "
            f"try again to continue, or download it by hand into {target.parent.absolute()}"
        ) from error
    except ValueError as error:  # pooch's for a wrong checksum
        raise DataError(
            f"{url}: wrong checksum, not the MD5 {md5} of the official file; nothing was kept. "
            "Try again, or another mirror"
        ) from error
    return target


def download(url: str, partial: Path, output: Path, progress: Progress | None) -> None:
    """Continue ``partial`` where it ends, and move it to ``output`` when it is complete."""
    import requests

    start = partial.stat().st_size if partial.exists() else 0
    asked = {"Range": f"bytes={start}-"} if start else {}
    with requests.get(url, headers=asked, stream=True, timeout=TIMEOUT_SECONDS) as answer:
        if answer.status_code == requests.codes.requested_range_not_satisfiable:
            partial.unlink()  # as long as the file or longer, so it is not a part of it
            raise requests.ConnectionError("the partial download was too long and was deleted")
        answer.raise_for_status()
        resumed = answer.status_code == requests.codes.partial_content
        done = start if resumed else 0
        total = done + int(answer.headers["Content-Length"]) if "Content-Length" in answer.headers else None
        with open(partial, "ab" if resumed else "wb") as file:
            for chunk in answer.iter_content(DOWNLOAD_BYTES):
                file.write(chunk)
                done += len(chunk)
                if progress:
                    progress(partial.name.removesuffix(".part"), done, total)
    if total is not None and done < total:
        raise requests.ConnectionError(f"interrupted after {done} of {total} bytes")
    shutil.move(partial, output)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive that contains ``folder``, completely or not at all; existing files stay."""
    with TemporaryDirectory(dir=archive.parent) as scratch:
        with tarfile.open(archive) as tar:
            tar.extractall(scratch, filter="data")
        unpacked = Path(scratch, folder.name)
        if not unpacked.is_dir():
            raise DataError(f"{archive}: has no folder {folder.name}; download the binary version")
        folder.mkdir(parents=True, exist_ok=True)
        for file in unpacked.iterdir():
            if not (folder / file.name).exists():
                shutil.move(file, folder / file.name)

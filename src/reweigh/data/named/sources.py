"""Where the benchmark datasets come from, and where their files belong below the data root."""

from pathlib import Path
from typing import NamedTuple

from reweigh.data.readers.cifar import LAYOUTS
from reweigh.data.readers.idx import STEMS, idx_names
from reweigh.errors import DataError


class Source(NamedTuple):
    """The official files of a dataset.

    Attributes:
        folder: Folder below the data root.
        url: Address to which the names of the downloads are appended.
        downloads: Name -> MD5 as published; a ``.tar.gz`` contains the folder itself.
        files: Files that the folder must contain, plain or as ``.gz``.
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

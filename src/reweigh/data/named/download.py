"""The official files of the benchmark datasets: where they are, and how to get them."""

import logging
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from reweigh.data.readers.published import LAYOUTS, STEMS, idx_names
from reweigh.errors import DataError
from reweigh.names import suggestion

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

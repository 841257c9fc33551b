"""Rows of numbers on disk, each found by a digest of what it was computed from.

A folder holds parts of a few hundred rows, each a sealed safetensors file that is whole or absent: what was computed
before an interruption stays, several processes may write at once, and a part that is damaged is computed again.
"""

import hashlib
import logging
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from reweigh.errors import DataError, StorageError
from reweigh.files.tensors import pack, read
from reweigh.files.whole import write_whole, writing

log = logging.getLogger(__name__)
KIND = "reweigh features"
VERSION = "1"
SUFFIX = ".safetensors"
DIGEST_BYTES = 16  # bytes
SPARE_ROOM = 1.1  # times the size of the rows that must be free


def digest(*content: bytes | memoryview) -> bytes:
    """The key of a row: the same content gives the same digest."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in content:
        found.update(part)
    return found.digest()


def cache_root() -> Path:
    """The cache folder: $REWEIGH_CACHE, or ``reweigh`` in the user's cache folder."""
    if given := os.environ.get("REWEIGH_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "reweigh")


class Usage(NamedTuple):
    """A cache on disk."""

    name: str
    rows: int
    size: int  # bytes


class RowCache:
    """Rows of one width in a folder."""

    def __init__(self, name: str, width: int) -> None:
        self.folder = cache_root() / name
        self.width = width

    def fill(self, digests: Sequence[bytes], rows: Tensor) -> Tensor:
        """Copy the rows that are known into ``rows``, shape (N, width); returns which were not, shape (N,) bool.

        The checksum of each part is compared; what is damaged is deleted.
        """
        wanted: dict[bytes, list[int]] = {}
        for index, name in enumerate(digests):
            wanted.setdefault(name, []).append(index)
        missing = torch.ones(len(digests), dtype=torch.bool)
        for path in parts(self.folder) if wanted else ():
            names, known = self._read(path)
            if pairs := [(index, place) for place, name in enumerate(names) for index in wanted.get(name, ())]:
                index, place = torch.tensor(pairs).T
                rows[index], missing[index] = known[place], False
        return missing

    def add(self, digests: Sequence[bytes], rows: Tensor) -> None:
        """Store rows in a new part."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        names = torch.frombuffer(bytearray(b"".join(digests)), dtype=torch.uint8).view(-1, DIGEST_BYTES)
        content = pack({"digests": names, "rows": rows.float().contiguous()}, {"kind": KIND, "version": VERSION})
        write_whole(self.folder / f"{digest(*digests).hex()}{SUFFIX}", content)

    def reserve(self, rows: int) -> None:
        """Check that this many more rows fit on the disk."""
        needed = int(rows * (4 * self.width + DIGEST_BYTES) * SPARE_ROOM)
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise StorageError(
                f"{self.folder}: the features of {rows:,} samples need {megabytes(needed)} on disk, and "
                f"{megabytes(free)} are free; make room, let REWEIGH_CACHE name a folder on another disk, or do not "
                "store them (features.cache=false)"
            )

    def _read(self, path: Path) -> tuple[list[bytes], Tensor]:
        """The digests and the rows of a part."""
        try:
            tensors, about = read(path)
            names, rows = tensors["digests"], tensors["rows"]
            if (about.get("kind"), about.get("version")) != (KIND, VERSION) or rows.shape != (len(names), self.width):
                raise DataError(f"{path}: written by another version of reweigh")
        except (DataError, KeyError) as error:
            log.warning("%s; its rows are computed again", error)
            with suppress(OSError):
                path.unlink()
            return [], torch.empty(0, self.width)
        content = names.numpy().tobytes()
        return [content[start : start + DIGEST_BYTES] for start in range(0, len(content), DIGEST_BYTES)], rows


def parts(folder: Path) -> list[Path]:
    """The files of a cache; a file that is still being written has another suffix."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def usage() -> list[Usage]:
    """All caches, the largest first."""
    root, found = cache_root(), []
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if folder.is_dir():
            rows = sum(_rows(path) for path in parts(folder))
            found.append(Usage(folder.name, rows, sum(path.stat().st_size for path in folder.iterdir())))
    return sorted(found, key=lambda cache: -cache.size)


def clear(names: Sequence[str]) -> None:
    """Delete caches; nothing else in their folders is touched."""
    for name in names:
        folder = cache_root() / name
        with writing(folder):
            for path in [*parts(folder), *folder.glob(".*.part")]:
                path.unlink()
            folder.rmdir()


def megabytes(size: int) -> str:
    """A number of bytes as MB or GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _rows(path: Path) -> int:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            return file.get_slice("digests").get_shape()[0]
    except (SafetensorError, OSError, IndexError):
        return 0

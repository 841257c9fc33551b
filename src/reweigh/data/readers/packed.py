"""Files inside another file, read in place: samples of a tar archive, cells of a Parquet column."""

from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path, PurePosixPath
from typing import IO


@dataclass(frozen=True, eq=False)
class Packed:
    """A file inside another, with the attributes of a path that image readers use.

    Attributes:
        name: Its name in there.
        archive: What it is packed in.
        data: The content of that.
        start: Where it begins.
        size: Number of bytes.
    """

    name: str
    archive: Path
    data: mmap
    start: int
    size: int

    def __str__(self) -> str:
        return f"{self.archive}:{self.name}"

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> PurePosixPath:
        return PurePosixPath(self.name).parent

    def read_bytes(self) -> bytes:
        return self.data[self.start : self.start + self.size]


File = Path | Packed


def mapped(file: IO[bytes]) -> mmap:
    """The content of an open file, which threads and forked processes can read in parallel."""
    return mmap(file.fileno(), 0, access=ACCESS_READ)

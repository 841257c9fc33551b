"""The headers of many image files: read by several processes, and cached as long as the files do not change."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor

from reweigh.data.on_demand import OnDemand
from reweigh.data.readers.image_files import Header, header, reason
from reweigh.data.readers.packed import File
from reweigh.errors import DataError, StorageError
from reweigh.files.row_cache import RowCache, digest

MANY = 2000  # files; fewer take less than a second
AT_ONCE = 500


def headers_of(files: Sequence[File], root: Path) -> list[Header | str]:
    """The header of each image, or why it has none.

    Args:
        root: Folder that they are in; the headers of many files are stored under its name, below ``cache_root()``.
    """
    if len(files) < MANY:
        return [_header_or_reason(file) for file in files]
    store = RowCache(f"headers-{digest(str(root.resolve()).encode()).hex()[:12]}", 3)
    digests = [_digest(file) for file in files]
    rows = torch.full((len(files), 3), -1.0)
    missing = store.fill(digests, rows).nonzero().flatten()
    if len(missing):
        rows[missing] = _read([files[place] for place in missing.tolist()])
        if len(new := missing[rows[missing, 0] >= 0]):
            with suppress(StorageError):  # then they are read again next time
                store.add([digests[place] for place in new.tolist()], rows[new])
    return [
        Header(int(height), int(width), gray > 0) if height >= 0 else _header_or_reason(file)
        for file, (height, width, gray) in zip(files, rows.tolist(), strict=True)
    ]


def _header_or_reason(file: File) -> Header | str:
    try:
        return header(file)
    except DataError as error:
        return reason(error.__cause__).removeprefix(f"{file}: ")


def _read(files: Sequence[File]) -> Tensor:
    """Height, width and whether it is gray of each image, -1 for what is not one; shape (N, 3)."""

    def one(row: int) -> Tensor:
        found = _header_or_reason(files[row])
        return torch.tensor((-1.0, -1.0, -1.0) if isinstance(found, str) else tuple(map(float, found)))

    source = OnDemand(one, len(files), (3,), torch.float32)
    return torch.cat(list(source.ahead(torch.arange(len(files)).split(AT_ONCE))))


def _digest(file: File) -> bytes:
    """A digest that changes when a file does."""
    path = file if isinstance(file, Path) else file.archive
    try:
        found = path.stat()
    except OSError:  # the file is gone
        return digest(str(file).encode())
    return digest(f"{file} {found.st_size} {found.st_mtime_ns}".encode())

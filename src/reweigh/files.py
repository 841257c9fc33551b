"""Write a file whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: str | Path, data: bytes | str) -> None:
    """Replace ``path`` by ``data`` in one move.

    The data go to a temporary name beside it, are flushed to the disk and renamed; whoever reads ``path``
    sees the old file or the new one, also after a crash or on a full disk. Names of files that are not UTF-8 are
    written as they are.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            file.write(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    if os.name == "posix":  # the rename itself must survive a power cut
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

"""Write a file completely or not at all."""

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: str | Path, data: bytes | str) -> None:
    """Replace the file at ``path`` by ``data`` in one step.

    The data are written to a temporary file in the same folder, flushed to disk and renamed, so that a reader sees
    the old file or the new one, even after a crash or on a full disk. File names in the data that are not UTF-8 are
    written unchanged.
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
    if os.name == "posix":  # the rename itself must survive a power failure
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

"""An append-only file of lines that several processes may write: a line is on disk once ``append`` returns."""

import errno
import os
from contextlib import suppress
from pathlib import Path

from reweigh.files.limits import check_file
from reweigh.files.whole import writing

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None

TAIL = 1 << 20  # bytes; a line that a killed process left unfinished is shorter


def append(path: Path, line: str) -> None:
    """Add a line, or leave the file as it was.

    Raises:
        StorageError: The line cannot be written; the message names the folder and the remedy.
    """
    data = line.encode() + b"\n"
    with writing(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # held for one line; freed when the descriptor is closed
            end = _drop_unfinished(descriptor)
            try:
                if os.write(descriptor, data) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(descriptor)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(descriptor, end)
                raise
        finally:
            os.close(descriptor)


def read(path: Path, start: int = 0) -> tuple[list[str], int]:
    """The lines from byte ``start`` on, and where the last one ends; a line that is not finished does not count.

    Raises:
        DataError: The file is too large, or is not a file.
        OSError: It cannot be read.
    """
    check_file(path, "results")
    if not path.is_file():
        return [], 0
    with open(path, "rb") as file:
        file.seek(start)
        data = file.read()
    whole = data[: data.rfind(b"\n") + 1]
    return whole.decode("utf-8", "replace").split("\n")[:-1], start + len(whole)


def _drop_unfinished(descriptor: int) -> int:
    """Cut off a last line without an end, which its writer never reported as written; the length of the file."""
    end = os.fstat(descriptor).st_size
    os.lseek(descriptor, max(0, end - TAIL), os.SEEK_SET)
    tail = os.read(descriptor, TAIL)
    kept = end - len(tail) + tail.rfind(b"\n") + 1
    if kept < end:
        os.ftruncate(descriptor, kept)
    return kept

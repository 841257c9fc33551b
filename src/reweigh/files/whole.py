"""Write a file completely or not at all."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reweigh.errors import StorageError

REMEDIES = {
    errno.ENOSPC: "make room on the disk, or choose another folder, and try again",
    errno.EDQUOT: "make room in your quota, or choose another folder, and try again",
    errno.EFBIG: "the system limits the size of files; raise the limit, or choose another folder",
    errno.EROFS: "the disk is read-only; choose another folder",
    errno.EACCES: "ask for permission to write there, or choose another folder",
    errno.EPERM: "ask for permission to write there, or choose another folder",
    errno.ENOENT: "the folder is gone, moved or deleted; put it back, or choose another one",
    errno.EISDIR: "it is a folder; give the name of a file",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "it is a link to another place, where reweigh does not write; delete the link",
}
OTHERWISE = "check the disk and its connection, and try again"
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # a folder from somebody else may link to a file of the user's


def write_whole(path: str | Path, data: bytes | str, keep: Path | None = None) -> None:
    """Replace the file at ``path`` by ``data`` in one step.

    The data are written to a temporary file in the same folder, flushed to disk and renamed, so that a reader sees
    the old file or the new one, even after a crash or on a full disk. File names in the data that are not UTF-8 are
    written unchanged.

    Args:
        keep: What the old file is renamed to, once the new one is complete. A process that is killed between the two
            renames leaves this one alone.

    Raises:
        StorageError: The file cannot be written; the message names the folder and the remedy. The old file remains.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with writing(path):
        try:
            temporary.unlink(missing_ok=True)
            with open(temporary, "xb") as file:  # never through a link
                file.write(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
                file.flush()
                os.fsync(file.fileno())
            if keep is not None and path.exists():
                os.replace(path, keep)
            _rename(temporary, path, keep)
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


def append_line(path: Path, line: str) -> None:
    """Add a line to a text file.

    Raises:
        StorageError: The line cannot be written, or the file is a link; the message names the folder and the remedy.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | NO_LINK, 0o666)

    with writing(path), open(path, "a", encoding="utf-8", opener=opener) as file:
        file.write(line + "\n")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into an error that names the folder and the remedy, but no temporary file."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        remedy = REMEDIES.get(error.errno or 0, OTHERWISE)
        raise StorageError(
            f"{path.parent}: {path.name} cannot be written there ({error.strerror or error}); {remedy}",
            errno=error.errno,
        ) from error


def _rename(temporary: Path, path: Path, keep: Path | None) -> None:
    try:
        os.replace(temporary, path)
    except OSError:
        if keep is not None and not path.exists():  # put the old one back
            with suppress(OSError):
                os.replace(keep, path)
        raise

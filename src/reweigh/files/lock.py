"""One writer per folder at a time, and who that is."""

import errno
import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from reweigh.errors import DataError
from reweigh.files.whole import NO_LINK, writing

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None

LOCK_NAME = ".lock"
log = logging.getLogger(__name__)


class Owner(NamedTuple):
    """A process.

    Attributes:
        born: When it started, as the system counts; the number of a process is used again after its end.
    """

    pid: int
    host: str
    born: str

    @classmethod
    def current(cls) -> "Owner":
        return cls(os.getpid(), socket.gethostname(), _born(os.getpid()))

    @property
    def alive(self) -> bool:
        """Whether it may still be running; a process of another host may."""
        if self.host != socket.gethostname():
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except (OSError, OverflowError):  # it exists, but belongs to somebody else
            pass
        return self.born == _born(self.pid)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def owner(folder: Path) -> Owner | None:
    """The process that is writing in a folder; None if there is none, or it has ended."""
    found = _read(folder / LOCK_NAME)
    return found if found is not None and found.alive else None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from writing in a folder.

    The kernel holds the lock, on most network file systems too, and frees it when the process ends, however it ends.
    Where the file system has no locks, the file says who is writing: a dead process of this host is recognized.
    """
    path = folder / LOCK_NAME
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _open(path, folder)
    try:
        with writing(path):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(Owner.current()._asdict()).encode())
        yield
    finally:
        with suppress(OSError):
            os.ftruncate(descriptor, 0)  # a folder that was moved keeps the file
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):  # not that of a folder put in its place
                path.unlink()
        os.close(descriptor)


def _open(path: Path, folder: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o644)
        try:
            kernel = _hold(descriptor)
        except BlockingIOError:
            os.close(descriptor)
            raise _taken(folder, _read(path)) from None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                break
        os.close(descriptor)  # its owner has just ended, and removed it
    before = _read(path)
    if before is not None and not kernel and before != Owner.current() and before.alive:
        os.close(descriptor)
        raise _taken(folder, before)
    if before is not None:
        log.info("%s: %s was writing here and is gone; continuing", folder, before)
    return descriptor


def _hold(descriptor: int) -> bool:
    """Take the lock; whether the file system has locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL):
            return False
        raise
    return True


def _taken(folder: Path, by: Owner | None) -> DataError:
    where = by or "another process"
    return DataError(
        f"{folder}: {where} is writing here; wait for it, stop it, or choose another folder. "
        f"If that process no longer exists, delete {folder / LOCK_NAME}"
    )


def _read(path: Path) -> Owner | None:
    with suppress(OSError, ValueError, TypeError, RecursionError):
        if path.is_file() and path.stat().st_size < 1000:
            found = Owner(**json.loads(path.read_bytes()))
            if isinstance(found.pid, int) and found.pid > 0 and isinstance(found.host, str):
                return found
    return None


def _born(pid: int) -> str:
    """When a process started; empty if the system does not provide it."""
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""

"""An append-only file of records that several processes may write: one is on disk once ``append`` returns.

Each line is a JSON object that ends with its own checksum, so that a line that was damaged or changed is noticed.
"""

import errno
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from reweigh.errors import DataError
from reweigh.files.limits import check_file
from reweigh.files.whole import NO_LINK, checksum, writing

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None

MAX_LINE_BYTES = 1 << 20  # of a line that a killed process left unfinished


class Place(NamedTuple):
    """How far a ledger was read."""

    end: int = 0  # bytes
    lines: int = 0


def append(path: Path, *records: Mapping[str, Any]) -> None:
    """Add records, or leave the file as it was."""
    data = "".join(f"{_line(record)}\n" for record in records).encode()
    with writing(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | NO_LINK, 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # held for one write; freed when the descriptor is closed
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


def read(path: Path, since: Place = Place()) -> tuple[list[dict[str, Any]], Place]:  # noqa: B008 (immutable)
    """The records from a place on, and where the last one ends; a line that is not finished does not count."""
    check_file(path, "results")
    if not path.is_file():
        return [], Place()
    with open(path, "rb") as file:
        file.seek(since.end)
        whole, break_, rest = file.read().rpartition(b"\n")
    lines = whole.decode("utf-8", "replace").split("\n") if break_ else []
    if rest.endswith(b'"}'):  # it was finished once
        lines.append(rest.decode("utf-8", "replace") + "\n")
    found = [_record(line, f"{path}, line {number}") for number, line in enumerate(lines, since.lines + 1)]
    return found, Place(since.end + len(whole) + len(break_), since.lines + len(lines))


def _line(record: Mapping[str, Any]) -> str:
    text = json.dumps(record)
    return f'{text[:-1]}, "sum": "{checksum(text.encode())[:16]}"}}'


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
        del record["sum"]
        if _line(record) == line:
            return record
    except (ValueError, TypeError, LookupError, RecursionError):
        pass
    raise DataError(
        f"{where}: damaged or changed since it was written; restore the file from a copy, or remove this line"
    )


def _drop_unfinished(descriptor: int) -> int:
    """Remove an incomplete last line, which its writer never reported as written; returns where the file ends."""
    end = os.fstat(descriptor).st_size
    os.lseek(descriptor, max(0, end - MAX_LINE_BYTES), os.SEEK_SET)
    unfinished = len(os.read(descriptor, MAX_LINE_BYTES).rpartition(b"\n")[2])
    if unfinished:
        os.ftruncate(descriptor, end - unfinished)
    return end - unfinished

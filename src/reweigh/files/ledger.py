"""An append-only file of records that several processes may write: one is on disk once ``append`` returns.

Each line is a JSON object that ends with a checksum of the line and of all lines above it, so that a change, a lost
line or another order is noticed.
"""

import errno
import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from reweigh.errors import DataError
from reweigh.files.limits import check_file
from reweigh.files.whole import NO_LINK, writing

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None

TAIL = 1 << 20  # bytes; a line that a killed process left unfinished is shorter
SEALED = re.compile(r'(\{.*), "sum": "([0-9a-f]{16})"\}')


class Place(NamedTuple):
    """How far a ledger was read: bytes, lines, and the checksum so far."""

    end: int = 0
    lines: int = 0
    sum: str = ""


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Add a record, or leave the file as it was.

    Raises:
        StorageError: It cannot be written, or the file is a link; the message names the folder and the remedy.
    """
    with writing(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | NO_LINK, 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # held for one line; freed when the descriptor is closed
            end, last = _drop_unfinished(descriptor)
            before = SEALED.fullmatch(last)
            text = json.dumps(record)
            data = f'{text[:-1]}, "sum": "{_sum(before[2] if before else "", text)}"}}\n'.encode()
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
    """The records from a place on, and where the last one ends; a line that is not finished does not count.

    Lines without a checksum, of an earlier version, may come before all others.

    Raises:
        DataError: A line is damaged, or the file is too large, or is not a file.
        OSError: It cannot be read.
    """
    check_file(path, "results")
    if not path.is_file():
        return [], Place()
    with open(path, "rb") as file:
        file.seek(since.end)
        data = file.read()
    whole, break_, rest = data.rpartition(b"\n")
    found, lines, before = [], since.lines, since.sum
    for line in whole.decode("utf-8", "replace").split("\n") if break_ else ():
        lines += 1
        record, before = _opened(line, before, f"{path}, line {lines}")
        found.append(record)
    if SEALED.match(rest.decode("utf-8", "replace")):  # it was finished once
        raise _damaged(f"{path}, line {lines + 1}")
    return found, Place(since.end + len(whole) + len(break_), lines, before)


def _opened(line: str, before: str, where: str) -> tuple[dict[str, Any], str]:
    """The record in a line, and the checksum up to there."""
    sealed = SEALED.fullmatch(line)
    if sealed and sealed[2] != _sum(before, sealed[1] + "}"):
        raise _damaged(where)
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or bool(before or "sum" in record) != bool(sealed):
        raise _damaged(where)
    record.pop("sum", None)
    return record, sealed[2] if sealed else before


def _damaged(where: str) -> DataError:
    return DataError(
        f"{where}: damaged or changed since it was written, or a line above it is missing; restore the file from a "
        "copy, or remove this line and all lines below it"
    )


def _sum(before: str, text: str) -> str:
    return hashlib.sha256((before + text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _drop_unfinished(descriptor: int) -> tuple[int, str]:
    """Remove an incomplete last line, which its writer never reported as written; returns where the file ends, and its
    last line."""
    end = os.fstat(descriptor).st_size
    os.lseek(descriptor, max(0, end - TAIL), os.SEEK_SET)
    tail = os.read(descriptor, TAIL)
    whole, break_, rest = tail.rpartition(b"\n")
    if rest:
        os.ftruncate(descriptor, end - len(rest))
    return end - len(rest), whole[whole.rfind(b"\n") + 1 :].decode("utf-8", "replace") if break_ else ""

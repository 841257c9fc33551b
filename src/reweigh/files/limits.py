"""Limits on what is read from a file, checked before memory is used; each can be raised by an environment variable."""

import bz2
import gzip
import lzma
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from reweigh.errors import DataError


class Limit(NamedTuple):
    """The largest amount that is read."""

    most: int
    unit: str


LIMITS = {
    "recipe": Limit(1_000_000, "bytes"),
    "json": Limit(256_000_000, "bytes"),
    "results": Limit(8_000_000_000, "bytes"),  # a table or the tensors of a run
    "header": Limit(100_000_000, "bytes"),  # of a safetensors file; the limit of its own library
    "expanded": Limit(4_000_000_000, "bytes"),  # a compressed file that grows more than MAX_EXPANSION times
    "cells": Limit(4_000_000_000, "cells"),  # of a Parquet file
    "workbook": Limit(500_000_000, "bytes"),  # of an .xlsx file that grows more than MAX_EXPANSION times
    "grid": Limit(50_000_000, "cells"),  # of a worksheet, nearly all of them empty
    "line": Limit(8_000_000, "bytes"),  # of a table
    "columns": Limit(100_000, "columns"),
    "label": Limit(10_000, "characters"),  # several candidates of a sample count as one
    "pixels": Limit(178_956_970, "pixels"),  # of an image; Pillow's own limit
}
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
MAX_EXPANSION = 100  # honest data rarely shrink to less than a hundredth
CELL = re.compile(rb'<c [^>]{0,200}?\br="([A-Z]{1,3})(\d{1,7})"')  # of a worksheet
CHUNK_BYTES = 1 << 22


def limit(name: str) -> int:
    """The limit of that name: its default, or the value of its environment variable."""
    given = os.environ.get(variable(name), "")
    if not given:
        return LIMITS[name].most
    try:
        return int(float(given))
    except ValueError:
        raise DataError(f"{variable(name)}={given}: give a number of {LIMITS[name].unit}, such as 1e9") from None


def variable(name: str) -> str:
    """The environment variable that raises a limit."""
    return f"REWEIGH_MAX_{name.upper()}"


def check_amount(name: str, amount: int, path: object, what: str) -> None:
    """Refuse more than a limit."""
    if amount > (most := limit(name)):
        raise DataError(
            f"{path}: {what} of {amount:,} {LIMITS[name].unit}; the limit is {most:,}. If you trust the file, raise it "
            f"with the environment variable {variable(name)}"
        )


def check_file(path: Path, name: str | None = None) -> None:
    """Refuse a path that is not a regular file, such as a pipe that would block, or a file over a limit."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # no such file: whoever opens it reports that
        return
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise DataError(f"{path}: a pipe or a device, not a file; copy its content into a file first")
    if name is not None:
        check_amount(name, found.st_size, path, "a file")


def check_expanded(path: Path, expanded: int, name: str = "expanded") -> None:
    """Refuse a compressed file that would grow out of all proportion."""
    if expanded > MAX_EXPANSION * path.stat().st_size:
        check_amount(name, expanded, path, "a compressed file with contents")


def check_archive(path: Path) -> None:
    """Refuse a zip archive, such as ``.npz``, that would grow out of all proportion; what is not an archive passes.

    The sizes in the directory of an archive can be trusted: no member is read beyond them.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            expanded = sum(member.file_size for member in archive.infolist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return
    check_expanded(path, expanded)


def check_table(path: Path) -> None:
    """Refuse a table that is not a file, or whose reading would take too much memory."""
    check_file(path)
    checks = {".parquet": check_parquet, ".xlsx": check_workbook, ".feather": check_feather, ".arrow": check_feather}
    checks.get(path.suffix, check_lines)(path)


def opened(path: Path) -> IO[bytes]:
    """A file, opened for reading; a compressed one is unpacked, by its ending."""
    if path.suffix != ".zip":
        return {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(path.suffix, open)(path, "rb")
    with zipfile.ZipFile(path) as archive:
        if len(names := archive.namelist()) != 1:
            raise DataError(f"{path}: {len(names)} files in one archive; give an archive of one table")
        return archive.open(names[0])


def check_lines(path: Path) -> None:
    """Refuse a text table, plain or compressed, with too long a line, too many columns, or too large when unpacked."""
    longest, expanded = limit("line"), 0
    packed = path.suffix in COMPRESSED
    try:
        with opened(path) as file:
            while line := file.readline(longest + 1):
                if not expanded and ".json" not in path.suffixes:
                    check_amount("columns", 1 + max(map(line.count, (b",", b";", b"\t", b"|"))), path, "a table")
                if len(line) > longest and ".json" not in path.suffixes:
                    check_amount("line", len(line), path, "a line with a cell")
                expanded += len(line)
                if packed and expanded > limit("expanded"):
                    check_expanded(path, expanded)
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile):
        return  # damaged: whoever reads it reports that


def check_parquet(path: Path) -> None:
    """Refuse a Parquet file with too many columns or cells; what is not such a file passes."""
    with suppress(ImportError):
        from pyarrow import ArrowException, parquet

        try:
            found = parquet.read_metadata(path)
        except (ArrowException, OSError):
            return
        check_amount("columns", found.num_columns, path, "a table")
        check_amount("cells", found.num_columns * found.num_rows, path, "a table")
        check_expanded(path, 8 * found.num_columns * found.num_rows)


def check_feather(path: Path) -> None:
    """Refuse a Feather or Arrow file that would grow out of all proportion, or whose buffers contradict each other.

    pyarrow trusts the buffers. What is not such a file passes.
    """
    with suppress(ImportError):
        from pyarrow import ArrowException, ipc, memory_map

        expanded = 0
        try:
            with memory_map(str(path)) as file:
                feather = ipc.open_file(file) if path.suffix == ".feather" else None
                several = feather and (feather.get_batch(number) for number in range(feather.num_record_batches))
                for batch in several or ipc.open_stream(file):
                    expanded += batch.nbytes
                    check_expanded(path, expanded)
                    try:
                        batch.validate(full=True)
                    except ValueError as error:
                        wrong = str(error).splitlines()[0]
                        raise DataError(f"{path}: cannot be read as a table ({wrong}); write the file again") from error
        except (ArrowException, OSError):
            return


def check_workbook(path: Path) -> None:
    """Refuse an .xlsx file that would grow out of all proportion, as text or as a grid around a few far cells."""
    try:
        with zipfile.ZipFile(path) as archive:
            check_expanded(path, sum(member.file_size for member in archive.infolist()), "workbook")
            for name in archive.namelist():
                if name.startswith("xl/worksheets/"):
                    with archive.open(name) as sheet:
                        filled, rows, columns = _extent(sheet)
                    if rows * columns > MAX_EXPANSION * filled:
                        check_amount(
                            "grid", rows * columns, path, f"a worksheet with {filled:,} filled cells in a grid"
                        )
    except (OSError, zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, DataError):
            raise
        return  # damaged: whoever reads it reports that


def _extent(sheet: IO[bytes]) -> tuple[int, int, int]:
    """Number of cells in the XML of a worksheet, its last row and its last column."""
    filled, last, names, text = 0, 0, set[bytes](), b""
    while chunk := sheet.read(CHUNK_BYTES):
        text += chunk
        end = text.rfind(b"<") if len(chunk) == CHUNK_BYTES else len(text)  # a tag may go on in the next chunk
        found = CELL.findall(text[:end])
        text = text[end:][:1000]
        filled += len(found)
        names.update(column for column, _ in found)
        last = max([last, *(int(row) for _, row in found)])
    number = max((int.from_bytes(name.rjust(3, b"@")) for name in names), default=0)
    a, b, c = number.to_bytes(3) if number else b"@@@"
    return filled, last, (a - 64) * 676 + (b - 64) * 26 + c - 64


def check_labels(names: Iterable[str], what: str) -> None:
    """Refuse class names so long that they cannot be names."""
    check_amount("label", max(map(len, names), default=0), what, "a label")

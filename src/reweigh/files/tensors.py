"""Safetensors files with a checksum of everything in them; the same content gives the same bytes.

    8 bytes: length of the header | header: JSON, padded with spaces | the numbers of all tensors

The checksum is SHA-256 over the header without it and the numbers. It is in the metadata, so that any safetensors
reader can read the file.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from reweigh.errors import DataError
from reweigh.files.limits import check_amount
from reweigh.files.whole import read_bytes

KEY = "checksum"
META = "__metadata__"


def pack(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """The content of a file."""
    from safetensors.torch import save

    header, numbers = _split(save(dict(tensors), dict(metadata)))
    plain = {name: value for name, value in header.items() if name != META}
    about = dict(sorted(metadata.items()))  # the library writes them in any order
    bare = _header({META: about, **plain})
    return b"".join((_header({META: {**about, KEY: _sum(bare, numbers)}, **plain}), numbers))


def unpack(data: bytes, what: object, sealed: bool = True) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a file's content, each tensor in its own memory.

    Args:
        sealed: Whether a checksum is needed. Otherwise, as for files of other programs, it is compared if it is there.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        size = int.from_bytes(data[:8], "little")
        if size <= len(data) - 8:
            check_amount("header", size, what, "a header")
        header, numbers = _split(data)
        about = {str(name): str(value) for name, value in header.get(META, {}).items()}
        found = about.pop(KEY, None)
        plain = {name: value for name, value in header.items() if name != META}
        if found is None and sealed:
            raise DataError(f"{what}: has no checksum, so reweigh did not write it, or it is damaged")
        if found is not None:
            whole = _header({META: {**about, KEY: found}, **plain}) == data[: len(data) - len(numbers)]
            if not whole or found != _sum(_header({META: about, **plain}), numbers):
                raise DataError(f"{what}: damaged or changed since it was written (its checksum is wrong)")
        # Copied: sums may round differently where numbers do not begin at a boundary of 64 bytes.
        return {name: tensor.clone() for name, tensor in load(data).items()}, about
    except DataError:
        raise
    except (
        SafetensorError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{what}: not a safetensors file, or truncated ({type(error).__name__}: {reason})") from error


def read(path: str | Path, sealed: bool = True) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a file; see ``unpack``."""
    try:
        data = read_bytes(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    return unpack(data, path, sealed)


def read_as(path: str | Path, kind: str, version: int, what: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a file that reweigh wrote with this kind and version in its metadata."""
    try:
        tensors, about = read(path)
    except DataError as error:
        raise DataError(f"{error}; give {what}") from error
    if about.get("kind") != kind:
        raise DataError(f"{path}: a safetensors file, but not {what}")
    if about.get("version") != str(version):
        raise DataError(f"{path}: written by another version of reweigh (format {about.get('version')}, not {version})")
    return tensors, about


def _split(data: bytes) -> tuple[dict[str, Any], memoryview]:
    end = 8 + int.from_bytes(data[:8], "little")
    if len(data) < end:
        raise ValueError("no header")
    header = json.loads(data[8:end].decode("utf-8"))
    if not isinstance(header, dict):
        raise ValueError("no header")
    return header, memoryview(data)[end:]


def _header(header: Mapping[str, Any]) -> bytes:
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _sum(header: bytes, numbers: memoryview) -> str:
    found = hashlib.sha256(header)
    found.update(numbers)
    return found.hexdigest()

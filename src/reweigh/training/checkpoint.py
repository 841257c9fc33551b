"""A nested state of tensors and plain values in one safetensors file with a checksum, and back; no pickle."""

import json
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reweigh.errors import DataError, StorageError
from reweigh.files import write_whole
from reweigh.files.tensors import pack, read

FORMAT = "reweigh-checkpoint"
VERSION = 3


def save(path: str | Path, state: Any, keep: Path | None = None) -> None:
    """Write a state; a reader of ``path`` finds either the old or the new one, complete.

    Dicts (keys int or str), lists, tuples, tensors, numbers, strings, booleans and None come back as they were.
    Subclasses come back as their plain kind, tensors on the CPU, contiguous and each with its own storage. The
    structure is JSON in the header's metadata, so any safetensors reader can look inside. The same state gives the same
    bytes.

    Args:
        keep: Where the state before this one is kept.

    Raises:
        TypeError: the state holds something else; the message says where.
        DataError: the disk is full or the file cannot be written; what was at ``path`` is untouched.
    """
    tensors: dict[str, Tensor] = {}
    structure = json.dumps(_encode(state, "", tensors), allow_nan=False)
    metadata = {"format": FORMAT, "version": str(VERSION), "state": structure}
    try:
        write_whole(path, pack(tensors, metadata), keep)
    except StorageError as error:
        raise DataError(f"{error}. The previous checkpoint, if any, remains: resume the run afterwards") from error


def load(path: str | Path) -> Any:
    """Read what ``save`` wrote; a DataError if that is missing, damaged, foreign, or of another version."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no checkpoint; a run without one starts from the beginning")
    tensors, metadata = read(path)
    _check_origin(path, metadata)
    try:
        return _decode(json.loads(metadata["state"]), tensors)
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: the checkpoint is damaged ({type(error).__name__}: {error})") from error


def plain_tensor(tensor: Tensor) -> Tensor:
    """A copy that a file can hold: on the CPU, contiguous, sharing storage with no other."""
    return tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def _check_origin(path: Path, metadata: dict[str, str]) -> None:
    if metadata.get("format") != FORMAT:
        raise DataError(
            f"{path}: a safetensors file, but not a checkpoint of reweigh (format {metadata.get('format')!r}, "
            f"expected {FORMAT!r}); did you pass the weights of a model?"
        )
    if metadata.get("version") != str(VERSION):
        raise DataError(
            f"{path}: written by another version of reweigh (checkpoint version {metadata.get('version')}, this one "
            f"reads {VERSION}); resume it with that version"
        )


def _encode(value: Any, place: str, tensors: dict[str, Tensor]) -> Any:
    """The value as JSON: scalars and lists as they are, the rest as an object with one key that names its kind."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Tensor):
        name = f"{len(tensors)}{place}"  # the number makes it unique, the place makes it readable
        tensors[name] = plain_tensor(value)
        return {"tensor": name}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, list | tuple):
        items = [_encode(item, f"{place}/{i}", tensors) for i, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        for key in value:
            if isinstance(key, bool) or not isinstance(key, int | str):
                raise TypeError(f"state{place}: a key must be int or str to be saved, got {key!r}")
        return {"dict": [[key, _encode(item, f"{place}/{key}", tensors)] for key, item in value.items()]}
    raise TypeError(
        f"state{place}: a {type(value).__name__} cannot be saved; "
        "allowed are tensors, numbers, strings, booleans, None, and dicts, lists and tuples of these"
    )


def _decode(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, list):
        return [_decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "float":
        return float(content)
    if kind == "tuple":
        return tuple(_decode(item, tensors) for item in content)
    if kind == "dict":
        return {key: _decode(item, tensors) for key, item in content}
    raise ValueError(f"unknown kind {kind!r}")

"""Decoded samples on disk during a training: each is decoded only once."""

import logging
import mmap
import os
import shutil
import tempfile

import torch
from torch import Tensor

from reweigh.files.row_cache import cache_root, megabytes

log = logging.getLogger(__name__)
DEFAULT_DISK_GB = 20.0


class Scratch:
    """Room for samples in an unnamed file, which disappears when the last process that uses it ends.

    Processes that were forked share it. See ``scratch``, which makes one if there is room.
    """

    def __init__(self, folder: str | os.PathLike[str], slots: int, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        values = torch.Size(shape).numel()
        size = slots * (values * dtype.itemsize + 1)
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, size)  # a full disk would kill the process that writes
            memory = mmap.mmap(file.fileno(), size)
        self._rows = torch.frombuffer(memory, dtype=dtype, count=slots * values).view(slots, *shape)
        self._known = torch.frombuffer(memory, dtype=torch.bool, offset=size - slots)

    def get(self, slot: int) -> Tensor | None:
        """The sample in a slot; None if nothing was put there."""
        return self._rows[slot] if self._known[slot] else None

    def put(self, slot: int, sample: Tensor) -> None:
        """Keep a sample."""
        self._rows[slot] = sample
        self._known[slot] = True


def scratch(slots: int, shape: tuple[int, ...], dtype: torch.dtype, disk_gb: float) -> Scratch | None:
    """Room for this many samples in the cache folder; None if that exceeds ``disk_gb``, or half of what is free."""
    needed = slots * (torch.Size(shape).numel() * dtype.itemsize + 1)
    if needed > disk_gb * 1e9 or not hasattr(os, "posix_fallocate"):
        return None
    try:
        folder = cache_root()
        folder.mkdir(parents=True, exist_ok=True)
        if needed > shutil.disk_usage(folder).free / 2:
            return None
        found = Scratch(folder, slots, shape, dtype)
    except OSError as error:
        log.info("images are decoded whenever they are needed: no room for them on disk (%s)", error)
        return None
    log.info("decoded images are kept in %s, %s, until training ends", folder, megabytes(needed))
    return found

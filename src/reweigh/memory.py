"""How much memory is free, and how to keep freed memory for the next training step."""

import ctypes
import platform
import re
from pathlib import Path

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # parameters of glibc's mallopt
MAX_THRESHOLD_BYTES = 2**31 - 1


def keep_freed_memory() -> bool:
    """Configure the C library to keep freed memory; returns whether that succeeded.

    On Linux, glibc returns large free blocks to the system at once. A training step frees and allocates hundreds of
    megabytes, and each page that is allocated again costs a page fault: about a tenth of the time of a step, as
    measured. This affects the whole process, so only programs that own their process call it, such as the command
    line.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(MMAP_THRESHOLD, 32 * 2**20)) and bool(mallopt(TRIM_THRESHOLD, MAX_THRESHOLD_BYTES))


def free_memory(device: str = "cpu") -> int | None:
    """Bytes that can still be allocated; None if the system does not report it.

    Args:
        device: "cpu", or a GPU such as "cuda:0".
    """
    if device.startswith("cuda"):
        import torch

        return torch.cuda.mem_get_info(torch.device(device))[0]
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return None if found is None else 1024 * int(found[1])

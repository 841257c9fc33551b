"""Keep freed memory for the next step, instead of giving it back to the system and asking for it again."""

import ctypes
import platform

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # parameters of glibc's mallopt
MOST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Tell the C library to hold on to what training frees; returns whether it understood.

    On Linux it hands large free blocks back to the system at once. A training step frees and takes hundreds of
    megabytes, and each page that comes back costs a fault: about a tenth of the time of a learning step where it was
    measured. It concerns the whole process, so only programs that own their process call it, such as the command line.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(MMAP_THRESHOLD, 32 * 2**20)) and bool(mallopt(TRIM_THRESHOLD, MOST))

"""Temporarily set the number of threads that torch uses on the CPU."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def threads(number: int | None) -> Iterator[None]:
    """Inside, torch uses this many threads per operation, in this thread and in new ones; None changes nothing."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)

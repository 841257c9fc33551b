"""What threads of one process share in torch: the number of threads per operation, and the random generators."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import torch

_training = RLock()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Inside, no other thread trains: generators are seeded and replayed there, and forward mode has one level."""
    with _training:
        yield


@contextmanager
def threads(number: int | None) -> Iterator[None]:
    """Inside, torch uses this many threads per operation, in this thread and in new ones; None changes nothing."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)

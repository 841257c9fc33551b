"""Where an epoch is cut into batches."""

import logging

from reweigh.errors import DataError

log = logging.getLogger(__name__)


def batch_bounds(samples: int, batch_size: int) -> list[tuple[int, int]]:
    """Start and end of each batch in the order of an epoch.

    The last batch may be smaller. If it would be a single sample, on which BatchNorm cannot train, it joins
    the batch before, so that every epoch sees every sample. A batch size above the number of samples is that number.

    Raises:
        DataError: there are no samples.
    """
    if samples == 0:
        raise DataError("the training set is empty; give it at least two samples")
    if batch_size > samples:
        log.warning("batch_size %d is larger than the training set; using its %d samples", batch_size, samples)
        batch_size = samples
    starts = list(range(0, samples, batch_size))
    if len(starts) > 1 and batch_size > 1 and samples - starts[-1] == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], samples], strict=True))

"""Check that a batch holds images before it is transformed."""

from torch import Tensor

from reweigh.errors import DataError


def check_images(transform: str, batch: Tensor) -> None:
    """Check that a batch is floats of shape (n, C, H, W).

    Args:
        transform: name of the transform in messages.

    Raises:
        DataError: the batch has another number of dimensions, or holds integers.
    """
    if batch.ndim != 4:
        raise DataError(
            f"transform {transform!r} needs images of shape (n, channels, height, width), but the batch has shape "
            f"{tuple(batch.shape)}; leave the transform out for data that are not images."
        )
    if not batch.is_floating_point():
        raise DataError(
            f"transform {transform!r} needs floats, but the batch holds {batch.dtype}; divide bytes by 255 first."
        )

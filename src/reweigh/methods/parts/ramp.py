"""How a term of an objective is phased in: published methods use two shapes."""

from collections.abc import Callable
from math import exp

RAMPS: dict[str, Callable[[float], float]] = {
    "linear": lambda progress: progress,
    "gaussian": lambda progress: exp(-5 * (1 - progress) ** 2),
}


def ramp(shape: str, epoch: int, epochs: int) -> float:
    """A factor that rises from about 0 in the first epoch to 1 after ``epochs``, and stays 1.

    Linear: pseudo-labels, MixMatch and DivideMix. Gaussian: the Pi-model and Mean Teacher.

    Args:
        shape: a name in ``RAMPS``.
        epoch: counted from 0.
        epochs: length of the ramp; with 0 the factor is 1 from the start.
    """
    return RAMPS[shape](epoch / epochs) if epoch < epochs else 1.0

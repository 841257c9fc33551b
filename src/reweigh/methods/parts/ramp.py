"""How a term of an objective is phased in: published methods use four shapes."""

from collections.abc import Callable
from math import exp

RAMPS: dict[str, Callable[[float], float]] = {
    "linear": lambda progress: progress,
    "gaussian": lambda progress: exp(-5 * (1 - progress) ** 2),
    "log": lambda progress: 1 - exp(-5 * progress),
    "exp": lambda progress: exp(5 * (progress - 1)),
}


def ramp(shape: str, epoch: int, epochs: int) -> float:
    """A factor that rises from about 0 in the first epoch to 1 (log: nearly 1) after ``epochs``, and stays 1.

    Linear: pseudo-labels and MixMatch. Gaussian: the Pi-model and Mean Teacher. Log, linear and exp: UDA's annealing.

    Args:
        shape: A name in ``RAMPS``.
        epoch: Counted from 0.
        epochs: Length of the ramp; with 0 the factor is 1 from the start.
    """
    return RAMPS[shape](epoch / epochs) if epoch < epochs else 1.0

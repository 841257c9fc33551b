"""How a part of an objective comes in by and by: published recipes use four ways."""

from collections.abc import Callable
from math import exp

RAMPS: dict[str, Callable[[float], float]] = {
    "linear": lambda progress: progress,
    "gaussian": lambda progress: exp(-5 * (1 - progress) ** 2),
    "log": lambda progress: 1 - exp(-5 * progress),
    "exp": lambda progress: exp(5 * (progress - 1)),
}


def ramp(shape: str, epoch: int, epochs: int) -> float:
    """From nearly 0 in the first epoch to 1 (log: nearly) after some epochs, and 1 from then on.

    Linear: pseudo-labels and MixMatch. Gaussian: the Pi-model and Mean Teacher. Log, linear and exp: UDA's annealing.

    Args:
        shape: a name of ``RAMPS``.
        epoch: counted from 0.
        epochs: until it is 1; 0 is 1 at once.
    """
    return RAMPS[shape](epoch / epochs) if epoch < epochs else 1.0

"""Frozen networks in front of a classifier, by name.

Each builder takes the shape of one sample and returns a ``Network``. Keyword-only arguments are options.
"""

from collections.abc import Callable
from typing import Any

from reweigh.features import efficientnet, foreign, no_network
from reweigh.features.network import Network
from reweigh.names import lookup

FEATURES: dict[str, Callable[..., Network | None]] = {
    "none": no_network.none,
    "tfidf": no_network.tfidf,
    "efficientnet-lite0": efficientnet.efficientnet_lite0,
}

__all__ = ["FEATURES", "Network", "build", "find"]


def find(name: str, trust_code: bool = False) -> Callable[..., Network | None]:
    """The builder of a network in ``FEATURES``, or of ``timm:NAME``, ``torchvision:NAME``, ``hf:NAME``.

    Args:
        trust_code: Whether a name with a colon, which stands for code outside the package, may be built.

    Raises:
        RecipeError: no network has that name.
        ModelError: one side of the colon is empty.
    """
    return foreign.foreign(name, trust_code) if ":" in name else lookup(FEATURES, name, "network for features")


def build(name: str, input_shape: tuple[int, ...], *, trust_code: bool = False, **options: Any) -> Network | None:
    """The network of that name with its weights; None for "none".

    Raises:
        RecipeError: unknown network.
        ModelError: the network or its weights are not available, or it does not accept such samples.
        DataError: the samples are not images.
    """
    return find(name, trust_code)(input_shape, **options)

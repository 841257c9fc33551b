"""Frozen networks in front of a classifier, by name.

Each builder takes the shape of one sample, () for text, and returns a ``Network`` or a ``TextNetwork``. Keyword-only
arguments are options.
"""

from collections.abc import Callable
from typing import Any

from reweigh.data.inputs import is_image
from reweigh.data.tables.encoding import TextAs
from reweigh.errors import DataError
from reweigh.features import foreign
from reweigh.features.foreign import TextNetwork
from reweigh.features.network import Network, efficientnet_lite0
from reweigh.names import lookup


def none(input_shape: tuple[int, ...]) -> None:
    """No frozen network: the model is trained on the samples themselves."""


def tfidf(input_shape: tuple[int, ...]) -> None:
    """TF-IDF of the words of a text column, the default for tables; no frozen network."""
    _check_table("tfidf", input_shape)


def wordllama(input_shape: tuple[int, ...]) -> None:
    """TF-IDF and mean token vector of a text column; works offline, needs the extra ``wordllama``."""
    _check_table("wordllama", input_shape)


def _check_table(name: str, input_shape: tuple[int, ...]) -> None:
    if is_image(input_shape):
        raise DataError(f"features {name!r}: for tables with text, but the samples are images; leave features out")


FEATURES: dict[str, Callable[..., Network | TextNetwork | None]] = {
    "none": none,
    "tfidf": tfidf,
    "wordllama": wordllama,
    "efficientnet-lite0": efficientnet_lite0,
}

__all__ = ["FEATURES", "Network", "TextNetwork", "build", "find", "is_network", "text_as"]


def is_network(name: str | None) -> bool:
    """Whether a name stands for a network, and not for the samples as they are read."""
    return name not in (None, "auto", "none", "tfidf", "wordllama")


def text_as(name: str | None) -> TextAs:
    """How text columns are read for a network or what else has that name."""
    return "wordllama" if name == "wordllama" else "plain" if is_network(name) else "tf-idf"


def find(name: str, trust_code: bool = False) -> Callable[..., Network | TextNetwork | None]:
    """The builder of a network in ``FEATURES``, or of one from outside the package, such as ``hf:NAME``."""
    return foreign.foreign(name, trust_code) if ":" in name else lookup(FEATURES, name, "network for features")


def build(
    name: str, input_shape: tuple[int, ...], *, trust_code: bool = False, **options: Any
) -> Network | TextNetwork | None:
    """The network of that name with its weights; None for "none"."""
    return find(name, trust_code)(input_shape, **options)

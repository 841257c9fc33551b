"""Names that put no frozen network in front of a classifier."""

from reweigh.data.inputs import is_image
from reweigh.errors import DataError


def none(input_shape: tuple[int, ...]) -> None:
    """No frozen network: the model is trained on the samples themselves."""


def tfidf(input_shape: tuple[int, ...]) -> None:
    """TF-IDF of the words of a text column, the default for tables; no frozen network.

    Raises:
        DataError: The samples are images.
    """
    _check_table("tfidf", input_shape)


def wordllama(input_shape: tuple[int, ...]) -> None:
    """TF-IDF and mean token vector of a text column; works offline, needs the extra ``wordllama``.

    Raises:
        DataError: The samples are images.
    """
    _check_table("wordllama", input_shape)


def _check_table(name: str, input_shape: tuple[int, ...]) -> None:
    if is_image(input_shape):
        raise DataError(f"features {name!r}: for tables with text, but the samples are images; leave features out")

"""Names that put no frozen network in front of a classifier."""

from reweigh.data.dataset import is_image
from reweigh.errors import DataError


def none(input_shape: tuple[int, ...]) -> None:
    """No frozen network: the model is trained on the samples themselves."""


def tfidf(input_shape: tuple[int, ...]) -> None:
    """TF-IDF of the words of a text column, as tables are read anyway; no frozen network.

    Raises:
        DataError: The samples are images.
    """
    if is_image(input_shape):
        raise DataError("features 'tfidf': for tables with text, but the samples are images; leave features out")

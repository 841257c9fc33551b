"""Predict where the model is sure enough, by a threshold set on samples that it was not trained on."""

from torch import Tensor

from reweigh.data import Dataset
from reweigh.fit.fitting import Fit
from reweigh.fit.scored import device_of, scored
from reweigh.selective import check_coverage, threshold


def confident(found: Fit, samples: Dataset, coverage: float) -> tuple[Tensor, Tensor]:
    """The predicted class of each sample, and whether the model is sure enough of it; shapes (n,).

    Args:
        found: A fit that held samples out.
        coverage: About this share of samples like those of training is predicted.

    Raises:
        RecipeError: The coverage is not above 0 and at most 1.
    """
    check_coverage(coverage)
    assert found.held_out is not None
    predicted = scored(found.model, samples, device_of(found.model))
    return predicted.logits.argmax(1), predicted.scores >= threshold(found.held_out.scores, coverage)

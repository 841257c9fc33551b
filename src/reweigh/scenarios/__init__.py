"""What a trained model is judged by; the first number of each is the one that decides which epoch was best."""

from reweigh.scenarios.few_labels import few_labels
from reweigh.scenarios.long_tail import long_tail
from reweigh.scenarios.noisy_labels import noisy_labels
from reweigh.scenarios.partial_labels import partial_labels
from reweigh.scenarios.selective import selective

SCENARIOS = {
    "few-labels": few_labels,
    "long-tail": long_tail,
    "noisy-labels": noisy_labels,
    "partial-labels": partial_labels,
    "selective": selective,
}

__all__ = ["SCENARIOS"]

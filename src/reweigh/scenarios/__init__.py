"""What a trained model is judged by; the first number of each is the one that decides which epoch was best."""

from reweigh.scenarios.long_tail import long_tail
from reweigh.scenarios.noisy_labels import noisy_labels

SCENARIOS = {
    "long-tail": long_tail,
    "noisy-labels": noisy_labels,
}

__all__ = ["SCENARIOS"]

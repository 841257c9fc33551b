"""Training in several threads of one process gives what it gives in one."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from reweigh import Reweighter, RobustClassifier
from reweigh.core.check import InexactWarning


def test_fits_in_threads_are_those_of_one() -> None:
    generator = np.random.default_rng(0)
    y = np.arange(90) % 3
    x = generator.normal(size=(90, 4)) + y[:, None]

    def probabilities(_: int) -> np.ndarray:
        found = RobustClassifier(method="cmw-net", epochs=3, random_state=0).fit(x, y)
        return found.predict_proba(x)

    alone = probabilities(0)
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(probabilities, range(3)):
            np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize("lookahead", ["virtual", "real"])
def test_steps_in_threads_are_exact(lookahead: str) -> None:
    inputs, labels = torch.randn(30, 8), torch.arange(30) % 3
    models = [
        nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.5), nn.Linear(32, 32), nn.Dropout(0.5), nn.Linear(32, 3))
        for _ in range(4)
    ]
    made = [
        [Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), labels, lookahead=lookahead) for _ in range(10)]
        for model in models
    ]

    def train(reweighters: list[Reweighter]) -> None:
        for reweighter in reweighters:  # each checks its first step
            reweighter.step(inputs, labels, inputs, labels)

    with warnings.catch_warnings(), ThreadPoolExecutor(4) as pool:
        warnings.simplefilter("error", InexactWarning)
        list(pool.map(train, made))

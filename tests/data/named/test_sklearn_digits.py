from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits

from reweigh.data import DATASETS, check

ROOT = Path("not needed")


def test_all_images_are_there_once_and_unharmed():
    train, test = DATASETS["digits"](ROOT)
    pixels, labels = load_digits(return_X_y=True)
    for part in (train, test):
        origin = part.origin.numpy()
        assert part.labels.tolist() == labels[origin].tolist()
        np.testing.assert_allclose(part.inputs.flatten(1).numpy() / 255 * 16, pixels[origin], atol=0.04)
    assert sorted(train.origin.tolist() + test.origin.tolist()) == list(range(1797))
    assert (train.inputs.dtype, train.shape, train.num_classes) == (torch.uint8, (1, 8, 8), 10)


def test_both_sides_have_the_same_share_of_each_class():
    train, test = DATASETS["digits"](ROOT, test_fraction=0.3)
    assert len(test) == round(0.3 * 1797) or len(test) == 540
    shares = train.class_sizes / len(train) - test.class_sizes / len(test)
    assert shares.abs().max() < 0.003


def test_the_split_is_fixed():
    first, again = (DATASETS["digits"](ROOT) for _ in range(2))
    assert torch.equal(first.train.origin, again.train.origin)


def test_the_training_set_is_normalized():
    train, _ = DATASETS["digits"](ROOT)
    inputs = train.batch(torch.arange(len(train))).inputs
    assert abs(inputs.mean()) < 1e-5
    assert abs(inputs.std() - 1) < 1e-4
    check(train)

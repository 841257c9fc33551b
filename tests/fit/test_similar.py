"""Neighbors, against a loop over all samples."""

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import nn

from reweigh.data import Dataset, from_arrays
from reweigh.data.inputs import SparseRows
from reweigh.fit.front import own_front
from reweigh.fit.similar import MOST, Similar


def test_the_nearest_of_a_class_against_a_loop():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(40, 5)).astype(np.float32) * [1, 10, 1, 1, 100]
    dataset = from_arrays(inputs.astype(np.float32), torch.arange(40) % 4, class_names=list("abcd"))
    rows = (inputs - inputs.mean(0)) / inputs.std(0)
    for among in (np.arange(40) % 4 == 1, np.ones(40, bool)):
        cosine = {
            other: rows[other] @ rows[5] / np.linalg.norm(rows[other]) / np.linalg.norm(rows[5])
            for other in range(40)
            if among[other] and other != 5
        }
        expected = sorted(cosine, key=lambda other: -cosine[other])[:MOST]
        assert Similar(dataset).of(5, among) == expected


class Colors(nn.Module):
    """The mean color of a photo."""

    def forward(self, photos):
        return photos.mean((2, 3))


def test_photos_are_compared_by_the_features_that_are_stored(monkeypatch, tmp_path):
    monkeypatch.setenv("REWEIGH_CACHE", str(tmp_path))
    photos = np.random.default_rng(0).integers(0, 256, (12, 3, 8, 8)).astype(np.uint8)
    photos[::3] //= 4  # every third is darker
    dataset = from_arrays(photos, torch.arange(12) % 2, class_names=list("ab"))
    front = own_front(Colors(), (3, 8, 8))
    everything = np.ones(12, bool)
    assert Similar(dataset, front).of(0, everything) == []  # nothing is computed for the page
    known = dataset.subset(torch.arange(11))
    front.through(known)
    found = Similar(dataset, front)
    assert sorted(found.of(0, everything)) == [3, 6, 9]
    assert 11 not in found.of(10, everything)
    assert found.of(11, everything) == []
    assert sorted(Similar(dataset.subset(torch.arange(12).roll(1)), front).of(1, everything)) == [4, 7, 10]


def test_sparse_rows_by_the_words_that_they_share():
    words = csr_matrix(np.array([[1, 1, 0, 0], [2, 2, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 1, 5, 0]], np.float32))
    dataset = Dataset(SparseRows(words), torch.arange(5) % 2, ("a", "b"))
    assert Similar(dataset).of(0, np.ones(5, bool)) == [1, 2, 4]
    assert Similar(dataset).of(3, np.ones(5, bool)) == []
    some = dataset.subset(torch.tensor([4, 1, 0]))
    assert Similar(some).of(2, np.array([True, True, False])) == [1, 0]


def test_color_images_and_data_that_are_gone_have_none():
    dataset = from_arrays(np.zeros((4, 3, 8, 8), np.uint8), torch.arange(4) % 2, class_names=list("ab"))
    assert Similar(dataset).of(0, np.ones(4, bool)) == []
    assert Similar(None).of(0, np.ones(4, bool)) == []

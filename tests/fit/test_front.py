"""Raw samples through a frozen network, and more of them than memory may hold."""

import numpy as np
import pytest
import torch
from torch import nn

from reweigh import RobustClassifier
from reweigh.data import Dataset
from reweigh.data.on_demand import OnDemand
from reweigh.errors import DataError
from reweigh.features.extract import StoredRows
from reweigh.features.neighbors import Neighborhood
from reweigh.features.network import Network
from reweigh.fit.front import Front, beside_neighbors
from reweigh.fit.scored import Scored
from reweigh.issues import Samples

IMAGES = torch.randint(0, 256, (12, 3, 6, 6), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(12) % 2


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REWEIGH_CACHE", str(tmp_path))


def network():
    torch.manual_seed(0)
    return Network("net", nn.Sequential(nn.Flatten(), nn.Linear(108, 4)), 4)


def raw(broken=()):
    def read_one(row):
        if row in broken:
            raise DataError(f"{row}.png: broken")
        return IMAGES[row]

    inputs = OnDemand(read_one, 12, (3, 6, 6), content=lambda row: [IMAGES[row].numpy().tobytes()])
    return Dataset(inputs, LABELS, ("a", "b"))


@pytest.mark.parametrize("memory_gb", [0.0, 2.0])
@pytest.mark.parametrize("broken", [(), (0, 7)])
def test_features_belong_to_the_samples_that_can_be_read(memory_gb, broken):
    front, samples = Front(network(), memory_gb=memory_gb), raw(broken)
    found = front.through(samples)
    assert isinstance(found.inputs, torch.Tensor) == bool(memory_gb)
    fine = [place for place in range(12) if place not in broken]
    assert found.source_rows.tolist() == fine
    every = torch.arange(len(fine))
    with torch.no_grad():
        for row, place in enumerate(fine):
            torch.testing.assert_close(found.inputs[every[[row]]][0], front.network(IMAGES[[place]])[0])


def test_rows_on_disk_train_the_same_model(monkeypatch):
    """Two looks, a test part and neighbors: every number as from memory."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 80)
    images = rng.integers(0, 120, (80, 3, 16, 16), dtype=np.uint8)
    images[:, 0] += (labels * 60).astype(np.uint8)[:, None, None]
    kinds, through = [], Front.through

    def spied(self, dataset, *arguments, **options):
        found = through(self, dataset, *arguments, **options)
        kinds.append(isinstance(found.inputs, StoredRows))
        return found

    monkeypatch.setattr(Front, "through", spied)
    found = []
    for memory_gb in (2.0, 0.0):
        features = {"name": "efficientnet-lite0", "size": 32, "memory_gb": memory_gb}
        model = RobustClassifier(features=features, epochs=4, random_state=0).fit(images, labels)
        found.append((model.predict_proba(images[:20]), model.label_issues_))
    assert kinds == [False, False, True, True]
    assert np.array_equal(found[0][0], found[1][0])
    assert "is_outlier" in found[0][1]
    assert found[0][1].equals(found[1][1])


def test_near_duplicates_of_training_samples_are_marked_among_test_samples(caplog):
    """Samples 0 to 3 are trained on, 4 to 6 are test samples; 5 is nearly the same as 1, which 0 is also."""
    given = torch.tensor([0, 0, 1, 1])
    known, unseen = (
        Samples(labels, labels, torch.ones(len(labels)), labels < 0, torch.zeros(len(labels)))
        for labels in (given, given[:3])
    )
    found = Neighborhood(torch.tensor([1, 5, -1, -1, -1, 1, -1]), torch.tensor([False] * 6 + [True]))
    tested = Scored(torch.tensor([[2.0, 0], [3, 0], [2, 0]]), torch.ones(3), torch.tensor([0, 0, 1]))
    train, test = beside_neighbors(known, unseen, tested, found)
    assert train.near_duplicate_of.tolist() == [1, 5, -1, -1]
    assert test.near_duplicate_of.tolist() == [-1, 1, -1]
    assert test.outlier.tolist() == [False, False, True]
    warned = "test: of 3 samples, 1 is nearly the same as a training sample, so the test is too easy"
    assert f"{warned}; accuracy on the others: 50.00" in caplog.text
    assert train.label_issues(["a", "b"])["near_duplicate_of"].notna().tolist() == [True, False, False, False]

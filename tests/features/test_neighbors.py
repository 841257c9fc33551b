import pytest
import torch

from reweigh.data import splits
from reweigh.data.splits import nearest
from reweigh.features import neighbors
from reweigh.features.neighbors import PHOTOS, TEXT, neighborhood, whitened


def test_nearest_against_a_loop(monkeypatch):
    monkeypatch.setattr(splits, "MAX_DISTANCES", 300)  # several chunks
    rows = torch.randn(70, 5, generator=torch.Generator().manual_seed(0))
    distance, index = nearest(rows, 6)
    for place in range(len(rows)):
        apart = [
            (float(1 - torch.cosine_similarity(rows[place], rows[other], dim=0)), other)
            for other in range(len(rows))
            if other != place
        ]
        assert index[place].tolist() == [other for _, other in sorted(apart)[:6]]
        assert distance[place].tolist() == pytest.approx([d for d, _ in sorted(apart)[:6]], abs=1e-6)


def test_whitened_by_the_eigenvectors_of_the_covariance():
    rows = (
        torch.randn(40, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64) @ torch.randn(6, 6).double()
    )
    unit = rows / rows.norm(dim=1, keepdim=True)
    unit = unit - unit.mean(0)
    values, vectors = torch.linalg.eigh(unit.T @ unit / 40)
    expected = unit @ vectors / (values + values.mean()).sqrt()
    found = whitened(rows).double()
    torch.testing.assert_close(found @ found.T, expected @ expected.T, rtol=1e-4, atol=1e-4)  # up to a rotation
    assert whitened(torch.ones(5, 3)).isfinite().all()


def planted():
    """300 samples around five centers; 3 near-copies, 2 exact ones, and 4 samples in a direction of their own."""
    generator = torch.Generator().manual_seed(0)
    centers = torch.randn(5, 30, generator=generator)
    rows = centers[torch.arange(300) % 5] * 2 + torch.randn(300, 30, generator=generator)
    copies = rows[:3] + 0.02 * torch.randn(3, 30, generator=generator)
    foreign = -3 * centers.sum(0) + torch.randn(4, 30, generator=generator)
    return torch.cat([rows, copies, rows[10:12], foreign])


@pytest.mark.parametrize(("rule", "most"), [(PHOTOS, 0.05), (TEXT, 0.1)])
def test_near_duplicates_and_outliers(rule, most):
    found = neighborhood(planted(), rule)
    pairs = {(place, int(other)) for place, other in enumerate(found.near_duplicate_of[:305]) if other >= 0}
    wanted = {(0, 300), (1, 301), (2, 302), (10, 303), (11, 304)}
    assert pairs == wanted | {(b, a) for a, b in wanted}
    assert found.outlier[305:].all()
    assert found.outlier[:305].sum() <= most * 305


def test_a_group_of_foreign_samples_does_not_vouch_for_itself(monkeypatch):
    monkeypatch.setattr(neighbors, "NEIGHBOR_LIMITS", (3, 3))
    assert not neighborhood(planted(), PHOTOS)[1][305:].any()  # what a small k would say


def test_identical_rows_are_near_duplicates_of_each_other():
    rows = torch.cat([torch.ones(60, 4), torch.randn(60, 4, generator=torch.Generator().manual_seed(0))])
    assert (neighborhood(rows, TEXT).near_duplicate_of[:60] >= 0).all()


def test_too_few_samples():
    assert neighborhood(torch.randn(10, 4), PHOTOS) is None


def test_outliers_are_found_among_fewer_samples_than_features():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(200, 400, generator=generator) @ torch.diag(torch.linspace(1, 0.1, 400))
    rows[:, 0] += 4
    rows[:6] = torch.randn(6, 400, generator=generator) * 0.1
    rows[:6, 399] += 4
    found = neighborhood(rows, PHOTOS)
    assert found is not None
    assert found.outlier[:6].all()
    assert int(found.outlier[6:].sum()) <= 6

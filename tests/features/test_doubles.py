"""Classes that are two, against classes that were joined or not."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor

from reweigh.features.doubles import _cut, doubles


def _groups(*centers: tuple[float, ...], size: int = 80, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.cat([torch.randn(size, len(c), generator=generator) * 0.5 + torch.tensor(c) for c in centers])


def test_a_class_of_two_kinds_is_found_with_its_parts() -> None:
    rows = _groups((0, 0, 0), (9, 0, 0), (4, 4, 0), (4, -4, 0))
    labels = torch.tensor([0, 0, 1, 2]).repeat_interleave(80)
    labels[::40] = -1
    (found,) = doubles(rows, labels)
    assert found.label == 0
    kinds = {frozenset(part.tolist()) for part in found.parts}
    known = (labels >= 0).nonzero().flatten().tolist()
    assert kinds == {frozenset(i for i in known if i < 80), frozenset(i for i in known if 80 <= i < 160)}
    first = found.parts[0]
    from_middle = (rows[first] - rows[first].mean(0)).norm(dim=1)
    assert torch.equal(from_middle, from_middle.sort().values)


def test_what_is_not_two() -> None:
    rows = _groups((0, 0, 0), (4, 4, 0), (4, -4, 0))
    labels = torch.arange(3).repeat_interleave(80)
    assert doubles(rows, labels) == []
    yes_or_no = torch.cat([rows, 3.0 * (torch.arange(240) % 2)[:, None]], 1)  # all classes fall apart by this column
    assert doubles(yes_or_no, labels) == []
    wrong = torch.where((labels == 1) & (torch.arange(240) % 3 == 0), 0, labels)  # wrong labels, where class 1 lies
    assert doubles(rows, wrong) == []
    few = torch.cat([rows, _groups((9, 0, 0), size=12)])  # a few strange samples are outliers
    assert doubles(few, torch.cat([labels, torch.zeros(12, dtype=torch.int64)])) == []
    assert doubles(rows, torch.zeros(240, dtype=torch.int64)) == []
    assert doubles(rows[:60], labels[:60] + torch.arange(60) % 2) == []  # two classes of thirty


@pytest.mark.parametrize("joined", [(0, 1), (2, 6)])
def test_digits_that_are_joined(joined: tuple[int, int]) -> None:
    images, kinds = load_digits(return_X_y=True)
    spread = images.std(0)
    rows = torch.from_numpy((images - images.mean(0)) / np.where(spread > 0, spread, 1))
    labels = torch.from_numpy(np.where(kinds == joined[1], joined[0], kinds))
    assert doubles(rows, torch.from_numpy(kinds)) == []
    (found,) = doubles(rows, labels)
    assert found.label == joined[0]
    shares = [(kinds[part.numpy()] == joined[0]).mean() for part in found.parts]
    assert max(shares) > 0.95
    assert min(shares) < 0.05


def test_the_best_cut_against_all_cuts() -> None:
    values = np.random.default_rng(0).normal(size=30)
    ordered = np.sort(values)
    cuts = [(np.var(ordered[:n]) * n + np.var(ordered[n:]) * (30 - n), n) for n in range(1, 30)]
    within, n = min(cuts)
    gap = ordered[n:].mean() - ordered[:n].mean()
    assert _cut(values) == (pytest.approx(gap / np.sqrt(within / 30)), ordered[n - 1])
    assert _cut(np.zeros(5)) == (0.0, 0.0)
    assert _cut(np.array([0.0, 0.0, 1.0])) == (np.inf, 0.0)


@pytest.mark.parametrize(
    "values", [np.full(57, 0.1), 2**0.5 / 2 + np.arange(57) % 3 * 1e-16, np.arange(57) % 2 * 1e-16]
)
def test_rounding_is_not_a_gap(values: np.ndarray) -> None:
    assert _cut(values)[0] == 0
    rng = np.random.default_rng(1)  # one-hot columns of a category sum to one, and so lie on a line without any spread
    yes = rng.random(120) < 0.5
    rows = torch.from_numpy(np.stack([rng.normal(size=120), rng.normal(size=120), yes, ~yes], 1))
    assert doubles(rows, torch.arange(120) % 2) == []

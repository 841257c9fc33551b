"""Several kinds of looks as one, beside a search over all mixtures."""

import itertools

import numpy as np
import pytest
import torch
from tests.looks.test_classifiers import GIVEN, ROWS, look_by

from reweigh.looks import BoostedTrees, LogisticRegressions, Look, pooled, shares_of
from reweigh.looks.linear import FEW, STRENGTHS
from reweigh.looks.pool import EVEN_VOTES


def drawn(seed: int, sharpness: list[float], samples: int = 60) -> tuple[list[torch.Tensor], torch.Tensor]:
    """What kinds of looks predict that know the classes more or less, and how likely the given labels are."""
    generator = torch.Generator().manual_seed(seed)
    given = torch.randint(3, (samples,), generator=generator)
    likely = torch.full((samples, 3), 0.1).scatter_(1, given[:, None], 0.8)
    known = torch.nn.functional.one_hot(given, 3)
    noise = torch.randn(len(sharpness), samples, 3, generator=generator)
    return [(each * known + some).softmax(1) for each, some in zip(sharpness, noise, strict=True)], likely


@pytest.mark.parametrize("seed", range(4))
def test_no_mixture_explains_the_labels_better(seed):
    kinds, likely = drawn(seed, [1.0, 1.5, 2.0])
    explained = torch.stack([(each * likely).sum(1) for each in kinds])

    def objective(shares: torch.Tensor) -> float:
        mixed = (shares[:, None] * explained).sum(0)
        return float(mixed.log().sum() + EVEN_VOTES * shares.log().sum())

    steps = np.arange(0.1, 0.81, 0.01)  # below a tenth a kind is left out
    grid = [(a, b, 1 - a - b) for a, b in itertools.product(steps, steps) if a + b <= 0.9]
    best = max(grid, key=lambda shares: objective(torch.tensor(shares)))
    found = shares_of(kinds, likely, (1, 1, 1))
    assert np.allclose(found, best, atol=0.011)


def test_a_kind_that_knows_nothing_is_left_out_and_the_others_share_what_it_leaves():
    kinds, likely = drawn(0, [3.0, 3.0, 0.0], samples=600)
    found = shares_of(kinds, likely, (1, 1, 1))
    assert found[2] == 0
    assert np.isclose(sum(found), 1)
    assert found[:2] == pytest.approx(shares_of(kinds[:2], likely, (1, 1)), abs=0.02)


def test_no_kind_gets_more_than_its_limit():
    kinds, likely = drawn(0, [1.0, 1.0, 4.0], samples=300)
    free, limited = (shares_of(kinds, likely, (1, 1, most)) for most in (1.0, 0.5))
    assert free[2] > 0.7
    assert limited[2] == 0.5
    assert np.isclose(sum(limited), 1)
    assert shares_of(kinds[2:] + kinds[:1], likely, (0.5, 1)) == pytest.approx([0.5, 0.5])


def test_predictions_are_mixed_and_evidence_is_added_up():
    logs = [torch.randn(5, 3, generator=torch.Generator().manual_seed(k)).log_softmax(1) for k in range(3)]
    held_out = torch.tensor([0, 3])
    models = [[torch.nn.Identity()] * k for k in (1, 2, 4)]
    looks = [Look(m, x, x.roll(1, 0), x[held_out], held_out, True, []) for m, x in zip(models, logs, strict=True)]
    both = pooled(looks, [0.2, 0.3, 0.5], [0.0, 0.5, 0.5])
    x = torch.stack(logs)
    by = torch.tensor([0.2, 0.3, 0.5])[:, None, None]
    assert torch.allclose(both.best.exp(), (x * by).sum(0).softmax(1))
    assert torch.allclose(both.consensus.exp(), (x.roll(1, 1) * by).sum(0).softmax(1))
    assert torch.allclose(both.unseen.exp(), (x[1:, held_out].exp() / 2).sum(0), atol=1e-5)
    assert both.shares == (0.0, 0.25, 0.25, 0.125, 0.125, 0.125, 0.125)
    assert len(both.models) == 7


@pytest.mark.parametrize("few", [True, False])
def test_all_folds_choose_the_penalty_where_samples_are_few(few, monkeypatch):
    monkeypatch.setattr("reweigh.looks.linear.FEW", FEW if few else 10)
    asked = []
    fitted = LogisticRegressions._fitted_one
    monkeypatch.setattr(LogisticRegressions, "_fitted_one", lambda *its: asked.append(its[-1]) or fitted(*its))
    targets = torch.nn.functional.one_hot(torch.from_numpy(GIVEN), 3).float()
    look_by(LogisticRegressions, targets).first(torch.arange(len(ROWS)) % 4, 4)
    assert len(asked) == len(STRENGTHS) * 4 if few else len(STRENGTHS) - 1 + 3


@pytest.mark.parametrize("kind", [LogisticRegressions, BoostedTrees])
@pytest.mark.parametrize("empty", [False, True])
def test_a_fold_without_samples_and_a_fold_that_sees_one_class(kind, empty):
    targets = torch.zeros(len(ROWS), 3)
    targets[:, 0] = 1
    targets[::10] = torch.tensor([0.0, 1.0, 0.0])
    fold = torch.where(targets[:, 1] > 0, 0, 1 + torch.arange(len(ROWS)) % 2)
    look = look_by(kind, targets).first(fold, 4 if empty else 3)
    assert torch.isfinite(look.best).all()
    assert look.models[0](torch.from_numpy(ROWS)).argmax(1).eq(0).all()

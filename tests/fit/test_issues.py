"""Labels that were not trained on, and sets of candidates, one sample at a time."""

import math

import pytest
import torch

from reweigh.core.candidates import CandidateSets
from reweigh.fit.issues import likeliest_candidates, settled
from reweigh.issues import Verdict, verdict_unseen
from reweigh.issues.stock import TEMPERATURES

ROWS = torch.tensor([[0.9, 0.1, 0.0], [0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.05, 0.9, 0.05]])


def test_the_likeliest_candidate_against_a_loop() -> None:
    candidates = torch.tensor([[0, 1, 1], [0, 1, 1], [1, 1, 1], [1, 0, 1]]).bool()
    by_hand = [max((p, -c) for c, p in enumerate(row) if candidates[i, c]) for i, row in enumerate(ROWS.tolist())]
    assert likeliest_candidates(CandidateSets.of_mask(candidates), ROWS).tolist() == [-c for _, c in by_hand]


def test_labels_that_were_not_trained_on_one_at_a_time() -> None:
    """Bayes' rule in loops, at the temperature that explains the given labels best."""
    generator = torch.Generator().manual_seed(0)
    true = torch.randint(3, (200,), generator=generator)
    given = torch.where(torch.rand(200, generator=generator) < 0.2, (true + 1) % 3, true)
    given[::20] = -1
    modest = (torch.nn.functional.one_hot(true, 3) * 1.5 + torch.randn(200, 3, generator=generator) * 0.3).softmax(1)
    suggested = torch.randint(3, (90,), generator=generator)
    labels = torch.where(torch.rand(90, generator=generator) < 0.2, (suggested + 1) % 3, suggested)
    found = verdict_unseen(given, modest, labels, suggested, prior=True)

    counts = [[1.0 * (k == y) for y in range(3)] for k in range(3)]
    for k, y in zip(suggested.tolist(), labels.tolist(), strict=True):
        counts[k][y] += 1
    total = sum(map(sum, counts))
    rate = 1 - sum(counts[k][k] for k in range(3)) / total
    confusion = [
        [0.9 * counts[k][y] / sum(counts[k]) + 0.1 * (1 - rate if k == y else rate / 2) for y in range(3)]
        for k in range(3)
    ]

    def posterior(row: int, temperature: float) -> tuple[float, list[float]]:
        shares = [float(modest[row, k]) ** (1 / temperature) for k in range(3)]
        weighted = [share / sum(shares) * sum(counts[k]) for k, share in enumerate(shares)]
        terms = [w / sum(weighted) * confusion[k][int(given[row])] for k, w in enumerate(weighted)]
        return sum(terms), [term / sum(terms) for term in terms]

    known = [row for row in range(200) if given[row] >= 0]
    best = max(TEMPERATURES, key=lambda t: sum(math.log(posterior(row, t)[0]) for row in known))
    assert best < 0.8  # these predictions are too modest
    for row in range(200):
        if given[row] < 0:
            assert found.quality[row].isnan()
            assert not found.wrong[row]
            continue
        rows = posterior(row, best)[1]
        assert float(found.quality[row]) == pytest.approx(rows[int(given[row])], abs=1e-4)
        assert int(found.suggested[row]) == max(range(3), key=rows.__getitem__)
    wrong = (given >= 0) & (given != true)
    assert (found.wrong & wrong).sum() > 0.9 * wrong.sum()


def test_as_many_unseen_labels_look_wrong_as_are_expected() -> None:
    true = torch.arange(200) % 2
    given = torch.where(torch.arange(200) % 10 == 0, 1 - true, true)
    given[5] = -1
    rows = torch.nn.functional.one_hot(true, 2) * 0.6 + 0.2
    seen = torch.where(torch.arange(200) % 40 == 0, 1 - true, true)
    plain = verdict_unseen(given, rows, seen, true, prior=False)
    assert not bool(plain.wrong.any())  # training has seen few wrong labels
    found = verdict_unseen(given, rows, seen, true, prior=False, share=20 / 199)
    assert found.wrong.nonzero().flatten().tolist() == list(range(0, 200, 10))
    assert torch.equal(found.suggested[found.wrong], true[found.wrong])
    assert bool(found.quality[5].isnan())
    assert float((1 - found.quality).nansum()) == pytest.approx(20, abs=0.1)


def test_labels_that_a_person_has_checked_are_right() -> None:
    verdict = Verdict(torch.tensor([1, 1, 0]), torch.tensor([0.1, 0.2, 0.9]), torch.tensor([True, True, False]))
    found = settled(verdict, torch.tensor([0, 0, 0]), torch.tensor([True, False, False]))
    assert found.suggested.tolist() == [0, 1, 0]
    assert found.quality.tolist() == pytest.approx([1, 0.2, 0.9])
    assert found.wrong.tolist() == [False, True, False]

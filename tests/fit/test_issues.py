"""The quality of given labels against its formula by hand, and what the table says."""

import math

import pytest
import torch
from hypothesis import given as drawn
from hypothesis import strategies as st

from reweigh.data.candidate_sets import CandidateSets
from reweigh.fit.issues import judge_unseen, likeliest_candidates
from reweigh.issues import Samples, judge
from reweigh.methods.parts.stock import TEMPERATURES
from reweigh.pseudo_labels import predictions

GIVEN = torch.tensor([0, 1, 2, 0])
ROWS = torch.tensor([[0.9, 0.1, 0.0], [0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.05, 0.9, 0.05]])


def label_issues(given, rows, weights, family, names, index=None):
    samples = Samples(given, *judge(given, rows, weights), torch.zeros(len(given)), weights, family)
    return samples.label_issues(names, index)


def test_by_hand() -> None:
    weights = torch.tensor([0.5, 0.0, float("nan"), 1.0])
    suggested, quality, wrong = judge(GIVEN, ROWS, weights)
    assert wrong.tolist() == [False, True, False, True]
    assert suggested.tolist() == [0, 0, 2, 1]
    by_hand = [1 - 0.5 * (1 + 0.1 - 0.9) / 2, 1 - (1 + 0.6 - 0.3) / 2, 1 - (1 + 0.3 - 0.5) / 2, 1.0]
    torch.testing.assert_close(quality, torch.tensor(by_hand))
    assert torch.equal(judge(GIVEN, ROWS).quality, judge(GIVEN, ROWS, torch.zeros(4)).quality)


@drawn(st.integers(2, 5), st.integers(0, 2**31))
def test_between_nothing_and_one_and_less_where_less_was_trusted(num_classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(20, num_classes, generator=generator).mul(3).softmax(1)
    labels = torch.randint(num_classes, (20,), generator=generator)
    low = torch.rand(20, generator=generator)
    high = low + (1 - low) * torch.rand(20, generator=generator)
    doubted, trusted = judge(labels, rows, low).quality, judge(labels, rows, high).quality
    assert float(doubted.min()) >= 0
    assert float(trusted.max()) <= 1
    assert bool((trusted >= doubted - 1e-6).all())


def test_the_table_begins_with_the_worst() -> None:
    family = torch.tensor([1, 0, 0, 1])
    table = label_issues(GIVEN, ROWS, torch.tensor([0.5, 0.5, 0.5, 0.5]), family, ["cat", "dog", 7])
    assert table.index.tolist() == [3, 1, 2, 0]
    assert table["given_label"].tolist() == ["cat", "dog", 7, "cat"]
    assert table["suggested_label"].tolist() == ["dog", "cat", 7, "cat"]
    assert table["is_label_issue"].tolist() == [True, True, False, False]
    assert table["family"].tolist() == [1, 0, 0, 1]
    assert table["label_quality"].is_monotonic_increasing
    alone = label_issues(GIVEN, ROWS, None, None, ["cat", "dog", 7])
    assert alone["weight"].isna().all()
    assert alone["family"].isna().all()


def test_the_index_is_the_users() -> None:
    import pandas as pd

    users = pd.Index(["w", "x", "y", "z"], name="sample")
    table = label_issues(GIVEN, ROWS, None, None, ["cat", "dog", "cow"], users)
    assert table.index.tolist() == ["z", "x", "y", "w"]
    frame = pd.DataFrame({"label": ["cat", "dog", "cow", "cat"]}, index=users)
    assert frame.loc[table.index, "label"].tolist() == table["given_label"].tolist()


def test_samples_without_a_label_are_no_issue_and_come_last() -> None:
    given = torch.tensor([0, -1, 2, 0])
    suggested, quality, wrong = judge(given, ROWS)
    assert suggested.tolist() == [0, 0, 2, 1]
    assert quality.isnan().tolist() == [False, True, False, False]
    assert wrong.tolist() == [False, False, False, True]
    table = label_issues(given, ROWS, None, None, [5, 6, 7])
    assert table.index.tolist() == [3, 2, 0, 1]
    assert table["given_label"].tolist() == [5, 7, 5, -1]
    named = label_issues(given, ROWS, None, None, ["a", "b", "c"])["given_label"]
    assert named.tolist()[:3] == ["a", "c", "a"]
    assert named.isna().tolist() == [False, False, False, True]
    truths = label_issues(given.clamp_max(1), ROWS[:, :2], None, None, [False, True])["given_label"]
    assert sorted(truths.isna().tolist()) == [False, False, False, True]


def test_the_likeliest_candidate_against_a_loop() -> None:
    candidates = torch.tensor([[0, 1, 1], [0, 1, 1], [1, 1, 1], [1, 0, 1]]).bool()
    by_hand = [max((p, -c) for c, p in enumerate(row) if candidates[i, c]) for i, row in enumerate(ROWS.tolist())]
    assert likeliest_candidates(CandidateSets.of_mask(candidates), ROWS).tolist() == [-c for _, c in by_hand]


def test_a_few_samples_at_a_time_are_judged_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = judge(GIVEN, ROWS)
    monkeypatch.setattr("reweigh.issues.VALUES_AT_ONCE", 3)
    asked: list[int] = []

    class Watched:
        def __getitem__(self, index: torch.Tensor) -> torch.Tensor:
            asked.append(len(index))
            return ROWS[index]

    for found, wanted in zip(judge(GIVEN, Watched()), expected, strict=True):
        assert torch.equal(found, wanted)
    assert max(asked) == 1


def test_a_store_of_predictions_serves_as_well() -> None:
    store = predictions(GIVEN, 3, 0.0)
    store.update(torch.arange(4), ROWS)
    torch.testing.assert_close(judge(GIVEN, store).quality, judge(GIVEN, ROWS).quality)


def test_labels_that_were_not_trained_on_one_at_a_time() -> None:
    """Bayes' rule in loops, at the temperature that explains the given labels best."""
    generator = torch.Generator().manual_seed(0)
    true = torch.randint(3, (200,), generator=generator)
    given = torch.where(torch.rand(200, generator=generator) < 0.2, (true + 1) % 3, true)
    given[::20] = -1
    modest = (torch.nn.functional.one_hot(true, 3) * 1.5 + torch.randn(200, 3, generator=generator) * 0.3).softmax(1)
    suggested = torch.randint(3, (90,), generator=generator)
    labels = torch.where(torch.rand(90, generator=generator) < 0.2, (suggested + 1) % 3, suggested)
    trained = Samples(labels, suggested, torch.ones(90), labels != suggested, torch.zeros(90))
    found = judge_unseen(given, modest, trained, prior=True)

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

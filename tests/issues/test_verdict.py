"""The quality of given labels against its formulas by hand, and what the table says."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given as drawn
from hypothesis import strategies as st

from reweigh.issues import Samples, verdict_of
from reweigh.issues.stock import take_stock
from reweigh.pseudo_labels import predictions

GIVEN = torch.tensor([0, 1, 2, 0])
ROWS = torch.tensor([[0.9, 0.1, 0.0], [0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.05, 0.9, 0.05]])


def label_issues(given, rows, weights, family, names, index=None):
    samples = Samples(given, *verdict_of(given, rows), torch.zeros(len(given)), weights, family)
    return samples.label_issues(names, index)


def test_by_the_margin_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reweigh.issues.verdict.MAX_POSTERIOR_PROBABILITIES", 0)
    suggested, quality, wrong = verdict_of(GIVEN, ROWS)
    assert wrong.tolist() == [False, True, False, True]
    assert suggested.tolist() == [0, 0, 2, 1]
    by_hand = [(1 + 0.9 - 0.1) / 2, (1 + 0.3 - 0.6) / 2, (1 + 0.5 - 0.3) / 2, (1 + 0.05 - 0.9) / 2]
    torch.testing.assert_close(quality, torch.tensor(by_hand))


@drawn(st.integers(2, 5), st.integers(0, 2**31))
def test_as_many_look_wrong_as_are_contradicted_by_the_order_of_the_posterior(num_classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(20, num_classes, generator=generator).mul(3).softmax(1)
    labels = torch.randint(num_classes, (20,), generator=generator)
    suggested, quality, wrong = verdict_of(labels, rows)
    posterior = take_stock(rows, F.one_hot(labels, num_classes).float()).posterior
    believed = posterior.gather(1, labels[:, None]).squeeze(1)
    assert int(wrong.sum()) == sum(int(row.argmax()) != label for row, label in zip(rows, labels.tolist(), strict=True))
    assert torch.equal(wrong, suggested != labels)
    assert float(quality.min()) >= 0
    assert float(quality.max()) <= 1
    assert bool((quality[believed.argsort()].diff() >= 0).all())
    if wrong.any() and not wrong.all():
        assert float(believed[wrong].max()) <= float(believed[~wrong].min())


def test_the_confusion_tells_a_wrong_label_from_a_hard_sample() -> None:
    """Class 1 is often given as 0, never the other way; the predictions of the two last samples differ alike."""
    rows = torch.tensor([[0.95, 0.05]] * 40 + [[0.05, 0.95]] * 60 + [[0.45, 0.55], [0.55, 0.45]])
    given = torch.tensor([0] * 40 + [0] * 20 + [1] * 40 + [0, 1])
    quality = verdict_of(given, rows).quality
    assert float(quality[-2]) < float(quality[-1])
    assert float(quality[40:60].max()) < float(quality[-2])


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
    suggested, quality, wrong = verdict_of(given, ROWS)
    assert suggested.tolist() == [0, 0, 2, 1]
    assert quality.isnan().tolist() == [False, True, False, False]
    assert wrong.tolist() == [False, False, False, True]
    table = label_issues(given, ROWS, None, None, [5, 6, 7])
    assert table.index.tolist() == [3, 0, 2, 1]
    assert table["given_label"].tolist() == [5, 5, 7, -1]
    named = label_issues(given, ROWS, None, None, ["a", "b", "c"])["given_label"]
    assert named.tolist()[:3] == ["a", "a", "c"]
    assert named.isna().tolist() == [False, False, False, True]
    truths = label_issues(given.clamp_max(1), ROWS[:, :2], None, None, [False, True])["given_label"]
    assert sorted(truths.isna().tolist()) == [False, False, False, True]


def test_without_any_label_nothing_is_an_issue() -> None:
    suggested, quality, wrong = verdict_of(torch.full((4,), -1), ROWS)
    assert suggested.tolist() == ROWS.argmax(1).tolist()
    assert quality.isnan().all()
    assert not wrong.any()


def test_a_few_samples_at_a_time_are_judged_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reweigh.issues.verdict.MAX_POSTERIOR_PROBABILITIES", 0)
    expected = verdict_of(GIVEN, ROWS)
    monkeypatch.setattr("reweigh.issues.verdict.MAX_CHUNK_PROBABILITIES", 3)
    asked: list[int] = []

    class Watched:
        def __getitem__(self, index: torch.Tensor) -> torch.Tensor:
            asked.append(len(index))
            return ROWS[index]

    for found, wanted in zip(verdict_of(GIVEN, Watched()), expected, strict=True):
        assert torch.equal(found, wanted)
    assert max(asked) == 1


def test_a_store_of_predictions_serves_as_well() -> None:
    store = predictions(GIVEN, 3, 0.0)
    store.update(torch.arange(4), ROWS)
    torch.testing.assert_close(verdict_of(GIVEN, store).quality, verdict_of(GIVEN, ROWS).quality)

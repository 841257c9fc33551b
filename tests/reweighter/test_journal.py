"""An issue list, and easy samples to trust, from a loop of one's own."""

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from reweigh import DataError, LowestLoss, Reweighter
from reweigh.issues import verdict_of
from reweigh.reweighter.journal import Journal

LABELS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 0])


def _made(labels: Any = LABELS, **options: Any) -> Reweighter:
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    return Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), labels, **options)


def _records() -> list[tuple[Tensor, Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    batches = [[0, 1, 2], [3, 4, 5], [0, 1], [5, 2], [0]]
    return [
        (
            torch.tensor(batch),
            torch.randn(len(batch), 3, generator=generator) * 2,
            torch.rand(len(batch), generator=generator),
        )
        for batch in batches
    ]


def test_means_over_all_records_one_sample_at_a_time() -> None:
    reweighter = _made()
    for record in _records():
        reweighter.record(*record)
    table, means = reweighter.label_issues(), {}
    for sample in range(8):
        seen = [(logits[index == sample][0].softmax(0), weights[index == sample][0])
                for index, logits, weights in _records() if sample in index]  # fmt: skip
        row = table.loc[sample]
        if not seen:
            assert np.isnan(row["label_quality"])
            assert not row["is_label_issue"]
            assert torch.isnan(reweighter.losses[sample])
            continue
        mean = torch.stack([p for p, _ in seen]).mean(0)
        weight = torch.stack([w for _, w in seen]).mean()
        given = int(LABELS[sample])
        means[sample] = mean
        assert row["weight"] == pytest.approx(float(weight), abs=1e-6)
        losses = torch.stack([-p[given].log() for p, _ in seen])
        torch.testing.assert_close(reweighter.losses[sample], losses.mean())
    verdict = verdict_of(LABELS[list(means)], torch.stack(list(means.values())))
    judged = table.loc[list(means)]
    np.testing.assert_allclose(judged["label_quality"], verdict.quality, rtol=1e-5)
    assert judged["suggested_label"].tolist() == verdict.suggested.tolist()
    assert judged["is_label_issue"].tolist() == verdict.wrong.tolist()
    assert table["label_quality"].dropna().is_monotonic_increasing
    assert table["label_quality"].isna().tolist() == [False] * 6 + [True] * 2


def test_names_and_index_of_the_user() -> None:
    reweighter = _made()
    reweighter.record([3], {"logits": torch.tensor([[0.0, 9.0, 0.0]])}, torch.tensor([0.1]))
    table = reweighter.label_issues(["ash", "elm", "oak"], pd.Index(list("abcdefgh")))
    assert table.iloc[0][["given_label", "suggested_label"]].tolist() == ["ash", "elm"]
    assert table.index[0] == "d"
    assert table.columns.tolist() == [
        "given_label", "suggested_label", "label_quality", "weight", "family", "is_label_issue"
    ]  # fmt: skip
    with pytest.raises(DataError, match="class_names: 2 names for 3 classes"):
        reweighter.label_issues(["ash", "elm"])
    with pytest.raises(DataError, match="index: 3 entries for 8 samples"):
        reweighter.label_issues(index=range(3))


def test_ignored_labels_are_samples_without_a_label() -> None:
    labels = LABELS.clone()
    labels[3] = -100
    reweighter = _made(labels, loss=nn.CrossEntropyLoss())
    reweighter.record(torch.arange(8), torch.randn(8, 3), torch.rand(8))
    table = reweighter.label_issues()
    assert table.index[-1] == 3
    assert table.loc[3, "given_label"] == -1
    assert torch.isnan(reweighter.losses).tolist() == [False] * 3 + [True] + [False] * 4


@pytest.mark.parametrize(
    ("index", "logits", "weights", "message"),
    [
        ([0, 8], torch.zeros(2, 3), torch.ones(2), "positions .*, 0 to 7, are needed; got 0 to 8"),
        ([0], torch.zeros(2, 3), torch.ones(2), r"index of shape \(1,\) and weights of shape \(2,\) for 2 samples"),
        ([0, 1], torch.zeros(2, 4), torch.ones(2), r"logits of shape \(2, 4\); .* 3 classes"),
    ],
)
def test_records_that_do_not_fit(index: Any, logits: Tensor, weights: Tensor, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _made().record(index, logits, weights)


def test_a_list_needs_records_but_no_weights() -> None:
    reweighter = _made()
    with pytest.raises(DataError, match=r"nothing was recorded: call reweighter\.record"):
        reweighter.label_issues()
    logits = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    reweighter.record(torch.ones(8, dtype=torch.bool), logits)
    table = reweighter.label_issues().sort_index()
    assert table["weight"].isna().all()
    assert table["suggested_label"].tolist() == logits.argmax(1).tolist()


@pytest.mark.parametrize("dense", [True, False])
def test_the_record_goes_on_where_it_was(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["reweigh.pseudo_labels"], "DENSE_AT_MOST", 10**6 if dense else 0)
    whole, first = _made(), _made()
    for record in _records():
        whole.record(*record)
    for record in _records()[:3]:
        first.record(*record)
    second = _made()
    second.load_state_dict(first.state_dict())
    for record in _records()[3:]:
        second.record(*record)
    pd.testing.assert_frame_equal(whole.label_issues(), second.label_issues())
    old = _made().state_dict()
    del old["journal"]  # as written before there was a journal
    _made().load_state_dict(old)


def test_trusting_the_easiest_finds_wrong_labels() -> None:
    """The documented first example, without trusted data: a third of one class has the label of another."""
    generator = torch.Generator().manual_seed(0)
    truth = torch.arange(300) % 3
    inputs = torch.randn(300, 4, generator=generator) + 3 * torch.eye(3, 4)[truth]
    wrong = (truth == 0) & (torch.rand(300, generator=generator) < 0.33)
    labels = torch.where(wrong, 1, truth)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    reweighter = Reweighter(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), labels)
    for _ in range(10):
        trusted = LowestLoss(per_class=10).choose(labels, reweighter.losses)
        for batch in torch.randperm(300, generator=generator).split(30):
            step = reweighter.step(inputs[batch], labels[batch], inputs[trusted], labels[trusted])
            reweighter.record(batch, step.outputs, step.weights)
    worst = torch.tensor(reweighter.label_issues().index[: int(wrong.sum())].to_numpy())
    assert wrong[worst].float().mean() > 0.75
    assert not wrong[trusted].any()
    assert (model(inputs).argmax(1) == truth).float().mean() > 0.9


def test_a_state_of_other_samples_or_classes_changes_nothing() -> None:
    def made(samples: int, classes: int) -> Reweighter:
        model = nn.Linear(4, classes)
        labels = torch.arange(samples) % classes
        return Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), labels, families=1)

    other = made(30, 3)
    other.record(torch.arange(30), torch.zeros(30, 3))
    for ours, words in (
        (made(20, 3), "30 samples in 3 classes, .* 20 in 3"),
        (made(30, 5), "30 samples in 3 .* 30 in 5"),
    ):
        before = {name: value.clone() for name, value in ours.weight_net.state_dict().items()}
        with pytest.raises(DataError, match=f"state: {words}"):
            ours.load_state_dict(other.state_dict())
        assert all(torch.equal(before[name], value) for name, value in ours.weight_net.state_dict().items())


def test_a_sample_that_is_repeated_counts_each_time() -> None:
    torch.manual_seed(0)
    labels = torch.tensor([0, 1, 2, -1])
    together, apart = Journal(labels, 3), Journal(labels, 3)
    for index in (torch.tensor([2, 0, 2, 3, 2]), torch.tensor([1, 1, 3, 2, 3])):  # as a sampler of rare classes draws
        logits, weights = torch.randn(5, 3), torch.rand(5)
        together.record(index, logits, weights)
        for row in range(5):
            apart.record(index[row : row + 1], logits[row : row + 1], weights[row : row + 1])
    torch.testing.assert_close(together.state_dict(), apart.state_dict(), equal_nan=True)

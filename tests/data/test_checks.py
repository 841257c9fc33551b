import pytest
import torch

from reweigh.data import Dataset, check, check_samples
from reweigh.errors import DataError

NAMES = ("cat", "dog", "owl")


def data(labels: list[int], inputs: torch.Tensor | None = None, **more: torch.Tensor) -> Dataset:
    return Dataset(torch.zeros(len(labels), 2) if inputs is None else inputs, torch.tensor(labels), NAMES, **more)


def test_good_data_pass_through():
    good = data([0, 1, 2, 1])
    assert check(good) is good


def test_all_mistakes_come_in_one_error():
    inputs = torch.zeros(6, 2)
    inputs[1, 0], inputs[3, 1] = float("nan"), float("inf")
    with pytest.raises(DataError) as error:
        check(data([0, 1, -2, 3, 0], inputs), "training set")
    text = str(error.value)
    assert text.startswith("training set: 5 mistakes\n")
    assert "2 outside 0..2: -2 (row 2), 3 (row 3)" in text
    assert "no samples of 'owl' (of 3 classes)" in text
    assert "6 for 5 labels" in text
    assert "NaN in 1 of 6 samples: row 1;" in text
    assert "infinite in 1 of 6 samples: row 3;" in text


def test_one_class_only():
    with pytest.raises(
        DataError, match=r"^data: labels: only one class, 'dog', in 3 samples; a classifier needs two or more$"
    ):
        check(data([1, 1, 1]))


def test_no_samples():
    with pytest.raises(DataError, match="there are no samples"):
        check(Dataset(torch.zeros(0, 2), torch.zeros(0, dtype=torch.int64), NAMES))


@pytest.mark.parametrize("labels", [torch.tensor([0.0, 1.0, 2.0]), torch.zeros(3, 3, dtype=torch.int64)])
def test_labels_of_a_wrong_kind(labels: torch.Tensor):
    with pytest.raises(DataError, match="give one int64 per sample"):
        check(Dataset(torch.zeros(3, 2), labels, NAMES))


def test_many_wrong_rows_are_counted_not_all_named():
    with pytest.raises(DataError, match=r"rows 0, 1, 2, 3, 4 and 95 more"):
        check(data([0, 1, 2, 0] * 25, torch.full((100, 2), float("nan"))))


def test_true_labels_are_checked_too():
    with pytest.raises(DataError, match=r"true labels: 1 outside 0..2: 9 \(row 1\)"):
        check(data([0, 1, 2], true_labels=torch.tensor([0, 9, 2])))
    with pytest.raises(DataError, match="true labels: 2 for 3 labels"):
        check(data([0, 1, 2], true_labels=torch.tensor([0, 1])))


def test_samples_without_a_label_are_allowed_in_training_alone():
    few = data([0, -1, 1, 2, -1])
    assert check(few) is few
    with pytest.raises(DataError, match=r"labels: 2 outside 0..2: -1 \(row 1\), -1 \(row 4\)"):
        check_samples(few)


def test_too_few_labels():
    with pytest.raises(DataError, match=r"^data: labels: 2 labeled samples for 3 classes; label at least one of each"):
        check(data([0, -1, 1, -1]))
    with pytest.raises(DataError, match=r"^data: labels: no labeled sample of 'owl' \(of 3 classes, 3 labels\); label"):
        check(data([0, -1, 1, -1, 1]))


def test_candidates(caplog: pytest.LogCaptureFixture):
    mask = torch.tensor([[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 1, 1]]).bool()
    good = data([0, 1, 1, 0], candidates=mask)  # 'owl' is a candidate, if the label of none
    with caplog.at_level("INFO"):
        assert check(good, "training set") is good
    assert caplog.messages == [
        "training set: 2 of 4 samples have every class as a candidate, so their labels carry no information"
    ]
    mask = mask.clone()
    mask[[0, 2]] = False
    with pytest.raises(DataError, match=r"candidates: none in 2 of 4 samples: rows 0, 2; name at least one class"):
        check(data([0, 1, 1, 0], candidates=mask))
    with pytest.raises(DataError, match=r"candidates: shape \(4, 2\) of torch.bool; .* shape \(4, 3\)"):
        check(data([0, 1, 2, 0], candidates=mask[:, :2]))
    with pytest.raises(DataError, match=r"candidates: shape \(4, 3\) of torch.int64"):
        check(data([0, 1, 2, 0], candidates=mask.long()))

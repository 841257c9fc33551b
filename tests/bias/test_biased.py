import pytest
import torch

from reweigh.bias import BIASES
from reweigh.bias.biased import compare
from reweigh.errors import DataError


def test_compare_against_a_loop():
    generator = torch.Generator().manual_seed(0)
    before, after = (torch.randint(0, 4, (200,), generator=generator) for _ in range(2))
    found = compare(before, after, 4)
    wrong = [int(b) != int(a) for b, a in zip(before, after, strict=True)]
    assert found.flipped.tolist() == wrong
    assert found.rate == pytest.approx(sum(wrong) / 200)
    for i in range(4):
        row = [int(a) for b, a in zip(before, after, strict=True) if b == i]
        for j in range(4):
            assert float(found.transition[i, j]) == pytest.approx(row.count(j) / len(row))


def test_a_class_without_samples_stays_itself():
    assert compare(torch.tensor([0, 0]), torch.tensor([0, 1]), 3).transition.tolist() == [
        [0.5, 0.5, 0],
        [0, 1, 0],
        [0, 0, 1],
    ]


def test_a_replaced_input_counts_as_flipped():
    labels = torch.tensor([0, 1, 1, 0])
    found = compare(labels, labels, 2, replaced=torch.tensor([True, False, False, False]))
    assert found.flipped.tolist() == [True, False, False, False]
    assert found.rate == 0.25


@pytest.mark.parametrize("name", ["symmetric", "symmetric-others"])
@pytest.mark.parametrize(
    ("rate", "message"), [(-0.1, "-0.1 is not a share"), (40, r"did you mean 0\.4\?"), (1.01, "1.01")]
)
def test_a_rate_outside_the_unit_interval(name: str, rate: float, message: str):
    with pytest.raises(DataError, match=message):
        BIASES[name](torch.tensor([0, 1]), 2, 0, rate=rate)


def test_a_rate_that_is_not_a_number():
    with pytest.raises(DataError, match="nan is not a share"):
        BIASES["symmetric"](torch.tensor([0, 1]), 2, 0, rate=float("nan"))


def test_a_rate_that_is_a_text():
    with pytest.raises(DataError, match="rate: 'a lot' is not a number"):
        BIASES["symmetric"](torch.tensor([0, 1]), 2, 0, rate="a lot")


def test_a_short_description():
    assert repr(BIASES["symmetric-others"](torch.arange(10), 10, 0, rate=0.3)) == "Biased(10 labels, 30.0% wrong)"


def test_labels_beyond_the_classes():
    with pytest.raises(DataError, match=r"from 0 to 5, but num_classes is 3; give labels from 0 to 2"):
        BIASES["symmetric"](torch.tensor([0, 5]), 3, 0, rate=0.1)


def test_labels_that_are_rows():
    with pytest.raises(DataError, match="a bias needs integers"):
        BIASES["symmetric"](torch.zeros(3, 3), 3, 0, rate=0.1)

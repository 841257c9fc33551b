import pandas as pd
import torch

from reweigh.data import Dataset, inspect
from reweigh.data.dataset import Reading
from reweigh.data.on_demand import OnDemand
from reweigh.data.tables.encoding import fit_encoding


def balanced(size: int = 60) -> tuple[torch.Tensor, torch.Tensor]:
    inputs = torch.randint(0, 256, (size, 1, 4, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    return inputs, torch.arange(size) % 3


def test_nothing_wrong():
    findings = inspect(Dataset(*balanced(), ("a", "b", "c")))
    assert findings.class_sizes == (20, 20, 20)
    assert findings.imbalance_factor == 1
    assert findings.trouble == ()


def test_copies_contradictions_and_blank_inputs():
    inputs, labels = balanced()
    inputs[7], inputs[40] = inputs[3], inputs[1]  # labels 1 and 0; 1 and 1
    inputs[10] = 255
    data = Dataset(inputs, labels, ("a", "b", "c"), reading=Reading(names=tuple(f"{n}.png" for n in range(60))))
    findings = inspect(data)
    assert set(findings.duplicates) == {(3, 7), (1, 40)}
    assert findings.conflicting == (((3, 0), (7, 1)),)
    assert findings.surely_wrong == 1
    assert findings.constant == (10,)
    trouble = " ".join(findings.trouble)
    assert "1 input with several different labels (3.png is 'a', 7.png is 'b')" in trouble
    assert "Constant inputs, blank or broken: 10.png." in trouble
    assert "2 samples are exact copies of others" in trouble


def test_the_least_number_of_wrong_labels():
    inputs = torch.zeros(6, 2)
    inputs[4:] = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    findings = inspect(Dataset(inputs, torch.tensor([0, 0, 1, 2, 1, 2]), ("a", "b", "c")))
    assert findings.surely_wrong == 2  # of four zeros two may be right


def test_places_are_those_of_the_source():
    inputs, labels = balanced()
    inputs[50] = 0
    part = Dataset(inputs, labels, ("a", "b", "c")).subset(torch.arange(20, 60))
    assert inspect(part).constant == (50,)


def test_a_tail_small_and_empty_classes():
    labels = torch.tensor([0] * 100 + [1] * 5)
    findings = inspect(Dataset(torch.randn(105, 3), labels, ("head", "tail", "none")))
    assert findings.imbalance_factor == float("inf")
    assert any("No samples of none" in sentence for sentence in findings.trouble)
    assert any("Fewer than 10 samples of tail (5)" in sentence for sentence in findings.trouble)
    findings = inspect(Dataset(torch.randn(105, 3), labels, ("head", "tail")))
    assert findings.imbalance_factor == 20
    assert any(
        "A long tail: 'head' has 100 samples, 'tail' has 5, a factor of 20" in sentence for sentence in findings.trouble
    )


def test_features_that_never_change_and_numbers_that_are_none():
    inputs = torch.randn(40, 3)
    inputs[:, 1] = 4.0
    inputs[6, 0] = float("nan")
    inputs[9, 2] = float("inf")
    findings = inspect(Dataset(inputs, torch.arange(40) % 2, ("a", "b")))
    assert findings.not_finite == (6, 9)
    assert findings.constant_features == (1,)
    assert "NaN or infinity in 2 samples (row 6, row 9)" in findings.trouble[0]


def test_features_of_a_table_that_never_change_have_names():
    encoding = fit_encoding(pd.DataFrame({"age": [1.0, 2, 3, 5], "city": ["Rome", "Oslo", "Rome", "Oslo"]}))
    inputs = torch.tensor([[0.1, 1, 0], [0.2, 1, 0], [0.3, 0, 0], [0.4, 0, 0]])
    data = Dataset(inputs, torch.arange(4) % 2, ("a", "b"), reading=Reading(encoding=encoding))
    assert inspect(data).constant_features == ("city=Rome",)


def test_what_the_reader_reported():
    data = Dataset(*balanced(), ("a", "b", "c"), reading=Reading(skipped=("x.png: broken",), missing={"age": 3}))
    trouble = " ".join(inspect(data).trouble)
    assert "Files that cannot be read and are left out: x.png: broken." in trouble
    assert "3 missing values filled: 3 in 'age'." in trouble


def test_inputs_outside_memory():
    inputs, labels = balanced(2500)
    inputs[2400] = inputs[3]
    lazy = OnDemand(lambda place: inputs[place], 2500, (1, 4, 4))
    findings = inspect(Dataset(lazy, labels, ("a", "b", "c")))
    assert findings.duplicates == ((3, 2400),)


def test_one_feature_is_not_called_constant():
    assert inspect(Dataset(torch.randn(40, 1), torch.arange(40) % 2, ("a", "b"))).constant == ()

"""Text columns through a network, against a loop over rows."""

import pandas as pd
import pytest
import torch
from torch import nn

from reweigh.data.inputs import Rows
from reweigh.data.tables.encoding import Encoding, fit_encoding
from reweigh.errors import DataError
from reweigh.features.extract import encoded, filled, scale_of
from reweigh.features.foreign import TextNetwork

FRAME = pd.DataFrame(
    {
        "title": ["one two", "three", None, "one two", "n/a", "  three "],
        "size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "body": ["a bc d", "three", "x y", "one two", "zz z", "q r s"],
    }
)


class Counted(nn.Module):
    """The number of letters and of words; remembers what it saw."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, texts):
        self.seen += texts
        return torch.tensor([[float(len(text)), float(len(text.split()))] for text in texts])


def table():
    return fit_encoding(FRAME, kinds={"title": "text", "body": "text"}, text="plain")


def test_each_column_its_own_and_each_text_once():
    network, encoding = TextNetwork("counted", Counted(), 2), table()
    rows = encoded(encoding.apply(FRAME), network, cache=False)
    assert encoding.texts == ("title", "body")
    assert encoding.feature_names == ("title (missing)", "size")
    assert sorted(network.module.seen) == sorted({"one two", "three", "a bc d", "x y", "zz z", "q r s"})
    for row, (title, body) in enumerate(zip(FRAME["title"], FRAME["body"], strict=True)):
        for start, text in ((2, title), (4, body)):
            if not isinstance(text, str) or text == "n/a":
                assert rows[row, start : start + 2].isnan().all()
            else:
                assert rows[row, start : start + 2].tolist() == [len(text.strip()), len(text.split())]
    assert rows[:, 0].tolist() == [0, 0, 1, 0, 1, 0]
    assert rows[:, 1].mean().abs() < 1e-6


def test_a_selection_of_a_selection():
    network, inputs = TextNetwork("counted", Counted(), 2), table().apply(FRAME)
    whole = encoded(inputs, network, cache=False)
    some = Rows(Rows(inputs, torch.tensor([5, 1, 3])), torch.tensor([2, 0]))
    assert encoded(some, network, cache=False).equal(whole[[3, 5]])


def test_missing_text_counts_as_the_mean_and_other_columns_stay():
    rows = torch.tensor([[5.0, 1.0, 10.0], [7.0, 3.0, 20.0], [9.0, torch.nan, torch.nan]])
    scale = scale_of(rows, 1)
    assert scale.mean.tolist() == [0.0, 2.0, 15.0]
    scaled = scale(filled(rows, scale.mean))
    assert scaled[:, 0].tolist() == [5.0, 7.0, 9.0]
    assert scaled[2, 1:].tolist() == [0.0, 0.0]
    torch.testing.assert_close(scaled[:, 1:].square().mean(0), torch.ones(2))


def test_the_same_after_json():
    again, network = Encoding.from_json(table().to_json()), TextNetwork("counted", Counted(), 2)
    first, second = (encoded(each.apply(FRAME), network, cache=False) for each in (table(), again))
    torch.testing.assert_close(first, second, equal_nan=True)


def test_features_that_are_not_finite_name_the_text():
    class Broken(nn.Module):
        def forward(self, texts):
            return torch.tensor([[torch.nan if "bc" in text else 1.0] for text in texts])

    with pytest.raises(DataError, match="NaN or infinity for 1 sample, such as 'a bc d'"):
        encoded(table().apply(FRAME), TextNetwork("broken", Broken(), 1), cache=False)


def test_rows_without_text():
    with pytest.raises(DataError, match="no text column, but training had one"):
        encoded(torch.ones(2, 3), TextNetwork("counted", Counted(), 2), cache=False)

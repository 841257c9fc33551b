"""The form of inputs survives JSON, and prepares further inputs exactly as the training inputs were."""

import numpy as np
import pandas as pd
import pytest
import torch

from reweigh.data import from_arrays
from reweigh.data.on_demand import OnDemand
from reweigh.data.readers.reader import Request
from reweigh.data.readers.table import from_frame
from reweigh.errors import DataError
from reweigh.fit.inputs import InputForm

DRAW = np.random.default_rng(0)
DATASETS = [
    from_arrays(DRAW.integers(0, 256, (9, 3, 5, 5), dtype=np.uint8), [0, 1, 2] * 3),
    from_arrays(DRAW.normal(size=(9, 4)), [0, 1, 2] * 3),
    from_frame(pd.DataFrame({"a": [0.1, 0.2, 0.4] * 3, "b": ["x", "y", "x"] * 3, "label": [0, 1, 2] * 3}), Request()),
]


@pytest.mark.parametrize("dataset", DATASETS, ids=["bytes", "numbers", "table"])
def test_the_same_batches_after_json(dataset):
    form = InputForm.from_json(InputForm.of(dataset).to_json(), "here")
    assert form == InputForm.of(dataset)
    assert form.shape == dataset.shape
    index = torch.arange(len(dataset))
    again = form.dataset(dataset.inputs, dataset.class_names).batch(index)
    assert again.inputs.equal(dataset.batch(index).inputs)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"shape": [1], "bytes": true, "version": 2}'])
def test_something_else_is_refused(text):
    with pytest.raises(DataError, match="here: not as this version of reweigh writes it"):
        InputForm.from_json(text, "here")


@pytest.mark.parametrize("size", ["[-1]", "[1000000, 1000000]", f"[1{'0' * 30}]", f"[1{'0' * 4000}]"])
def test_a_size_that_no_sample_has_is_refused(size):
    with pytest.raises(DataError, match=r"here: shape is .* not the size of a sample|here: not as this version"):
        InputForm.from_json(f'{{"shape": {size}, "bytes": true}}', "here")


def test_bytes_and_the_same_numbers_as_floats_are_the_same_samples():
    as_bytes = DATASETS[0]
    as_floats = from_arrays(as_bytes.inputs.numpy().astype(np.float32), [0, 1, 2] * 3)
    index = torch.arange(len(as_bytes))
    for one, other in ((as_bytes, as_floats), (as_floats, as_bytes)):
        read = InputForm.of(one).dataset(other.inputs, one.class_names)
        torch.testing.assert_close(read.batch(index).inputs, one.batch(index).inputs)


def test_images_read_on_demand_are_bytes_as_those_in_memory():
    held = DATASETS[0]
    on_demand = OnDemand(held.inputs.__getitem__, len(held), held.shape)
    index = torch.arange(len(held))
    read = InputForm.of(held).dataset(on_demand, held.class_names)
    assert read.batch(index).inputs.equal(held.batch(index).inputs)

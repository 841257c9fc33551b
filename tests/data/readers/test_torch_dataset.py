import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import TensorDataset

from reweigh.data import from_torch
from reweigh.data.on_demand import OnDemand
from reweigh.errors import DataError

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 5, 4, 3), dtype=np.uint8)
LABELS = [0, 1, 2, 0, 1, 2]


class Listed(TorchDataset):
    def __init__(self, samples, **attributes):
        self.samples = samples
        self.__dict__ |= attributes

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, place):
        return self.samples[place]


class ClassLabel:
    names = ("cat", "dog", "owl")


class LikeHuggingFace(Listed):
    features = {"img": None, "label": ClassLabel()}  # noqa: RUF012


def test_tensors():
    inputs = torch.randn(6, 4)
    data = from_torch(TensorDataset(inputs, torch.tensor(LABELS)))
    assert torch.equal(data.inputs, inputs)
    assert data.labels.tolist() == LABELS
    assert abs(data.batch(torch.arange(6)).inputs.mean()) < 1e-6


def test_samples_of_another_type_than_the_first_become_like_it():
    """Also where worker processes read them."""
    samples = [(torch.full((2,), row, dtype=torch.uint8 if row % 2 else torch.float32), row % 2) for row in range(6)]
    data = from_torch(Listed(samples), memory_gb=0.0, workers=2)
    batches = [torch.tensor([0, 1, 2]), torch.tensor([5, 4])]
    for index, batch in zip(batches, data.batches(batches), strict=True):
        assert batch.inputs.dtype == torch.float32
        assert torch.equal(batch.inputs, data.batch(index).inputs)


def test_pillow_images_and_class_names_of_the_dataset():
    samples = [(Image.fromarray(pixels), label) for pixels, label in zip(PIXELS, LABELS, strict=True)]
    data = from_torch(Listed(samples, classes=["cat", "dog", "owl"]))
    assert np.array_equal(data.inputs.numpy(), PIXELS.transpose(0, 3, 1, 2))
    assert data.class_names == ("cat", "dog", "owl")


def test_dictionaries_as_hugging_face_has_them():
    samples = [{"img": Image.fromarray(pixels), "label": label} for pixels, label in zip(PIXELS, LABELS, strict=True)]
    data = from_torch(LikeHuggingFace(samples))
    assert data.class_names == ("cat", "dog", "owl")
    assert data.shape == (3, 5, 4)
    with pytest.raises(DataError, match=r"LikeHuggingFace: no column of label called 'fine'; there are: img, label"):
        from_torch(LikeHuggingFace(samples), label="fine")


@pytest.mark.filterwarnings("ignore")  # of the packages that it brings along
def test_real_hugging_face():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog", "owl"])})
    rows = [{"image": Image.fromarray(pixels), "label": label} for pixels, label in zip(PIXELS, LABELS, strict=True)]
    table = pytest.importorskip("pyarrow").Table.from_pylist(
        list(map(features.encode_example, rows)), features.arrow_schema
    )
    info = datasets.DatasetInfo(features=features)
    data = from_torch(datasets.Dataset(table, info=info, fingerprint="of this test"))
    assert np.array_equal(data.inputs.numpy(), PIXELS.transpose(0, 3, 1, 2))
    assert (data.class_names, data.labels.tolist()) == (("cat", "dog", "owl"), LABELS)


def test_names_as_labels():
    samples = [(np.zeros(2, np.float32), name) for name in ("dog", "cat", "dog")]
    assert from_torch(Listed(samples)).labels.tolist() == [1, 0, 1]


def test_a_set_too_large_is_read_on_demand():
    samples = [(pixels, label) for pixels, label in zip(PIXELS, LABELS, strict=True)]
    data, whole = from_torch(Listed(samples), memory_gb=0), from_torch(Listed(samples))
    assert isinstance(data.inputs, OnDemand)
    assert data.labels.tolist() == LABELS
    assert torch.equal(data.batch(torch.tensor([4, 1])).inputs, whole.batch(torch.tensor([4, 1])).inputs)


@pytest.mark.parametrize(("samples", "message"), [
    ([], "has no samples"),
    ([1, 2], r"a sample is of type int; it must be \(input, label\) or a dictionary of both"),
    ([("text", 0), ("text", 1)], "inputs of type str are not numbers"),
    ([(np.zeros(2), 0), (np.zeros(3), 1)], r"sample 1 has shape \(3,\), sample 0 \(2,\); give all samples"),
    ([(np.zeros(2), 0), (np.zeros(2), 0)], "one class, '0'"),
    ([(np.full(2, np.nan), 0), (np.zeros(2), 1)], "NaN in 1 of 2 samples: row 0"),
])  # fmt: skip
def test_bad_datasets(samples, message):
    with pytest.raises(DataError, match=f"Listed: .*{message}"):
        from_torch(Listed(samples))


def test_a_stream():
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            yield torch.zeros(2), 0

    with pytest.raises(DataError, match="has no length; a dataset that only streams must be saved first"):
        from_torch(Stream())

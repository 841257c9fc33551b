import pytest
import torch

from reweigh.data import Dataset
from reweigh.data.inputs import Rows, Standardize, as_float, standardize_like


def small() -> Dataset:
    images = torch.arange(4 * 3 * 2 * 2, dtype=torch.uint8).reshape(4, 3, 2, 2)
    return Dataset(images, torch.tensor([0, 1, 1, 2]), ("a", "b", "c"), normalize=Standardize([0.5] * 3, [0.25] * 3))


class Lazy:
    """Inputs that are no tensor, and remember what was asked."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor, self.asked = tensor, []

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, index: torch.Tensor) -> torch.Tensor:
        self.asked.append(index.tolist())
        return self.tensor[index]


def test_what_a_dataset_knows_of_itself():
    data = small()
    assert (len(data), data.num_classes, data.shape) == (4, 3, (3, 2, 2))
    assert data.class_sizes.tolist() == [1, 2, 1]
    assert repr(data) == "Dataset(4 samples of shape (3, 2, 2), 3 classes)"


@pytest.mark.parametrize(
    ("shape", "classes", "chunk"),
    [((3, 224, 224), 2, 33), ((16,), 10, 1000), ((16,), 100_000, 50), ((9_000_000,), 2, 1)],
)
def test_large_samples_and_many_classes_are_predicted_a_few_at_a_time(shape, classes, chunk):
    names = tuple(map(str, range(classes)))
    assert Dataset(torch.empty(1, *shape), torch.tensor([0]), names).chunk == chunk


def test_a_class_without_samples_has_size_zero():
    data = Dataset(torch.zeros(2, 5), torch.tensor([0, 0]), ("a", "b"))
    assert data.class_sizes.tolist() == [2, 0]


def test_a_batch_is_scaled_augmented_normalized_in_that_order():
    data, seen = small(), []

    def augment(batch: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        seen.append((batch.clone(), generator))
        return batch + 1

    generator = torch.Generator()
    batch = data.batch(torch.tensor([2, 0]), augment, generator)
    unit = data.inputs[torch.tensor([2, 0])].double() / 255
    torch.testing.assert_close(seen[0][0].double(), unit, rtol=0, atol=1e-7)
    assert seen[0][1] is generator
    torch.testing.assert_close(batch.inputs.double(), (unit + 1 - 0.5) / 0.25, rtol=1e-6, atol=1e-6)
    assert batch.labels.tolist() == [1, 0]
    assert batch.index.tolist() == [2, 0]


def test_float_features_stay_as_they_are():
    data = Dataset(torch.tensor([[1.5, -300.0], [0.0, 7.0]]), torch.tensor([0, 1]), ("a", "b"))
    assert data.batch(torch.tensor([1, 0])).inputs.tolist() == [[0.0, 7.0], [1.5, -300.0]]


def test_a_batch_never_changes_the_raw_inputs():
    features = torch.ones(2, 3)
    data = Dataset(features, torch.tensor([0, 1]), ("a", "b"), normalize=Standardize([1.0] * 3, [2.0] * 3))
    data.batch(torch.tensor([0, 1]), lambda batch, generator: batch.add_(5))
    data.normalize(features)
    assert features.tolist() == [[1.0] * 3] * 2


def test_subset_keeps_the_origin_through_two_steps():
    data = small().with_labels(torch.tensor([2, 1, 0, 0]))
    twice = data.subset(torch.tensor([3, 1, 0])).subset(torch.tensor([True, False, True]))
    assert twice.origin.tolist() == [3, 0]
    assert twice.labels.tolist() == [0, 2]
    assert twice.true_labels.tolist() == [2, 0]
    assert torch.equal(twice.inputs, data.inputs[torch.tensor([3, 0])])


def test_subset_of_inputs_outside_memory_reads_nothing():
    lazy = Lazy(torch.arange(10.0).reshape(5, 2))
    part = Dataset(lazy, torch.arange(5), tuple("abcde")).subset(torch.tensor([4, 2, 1])).subset(torch.tensor([2, 0]))
    assert lazy.asked == []
    assert isinstance(part.inputs, Rows)
    assert part.shape == (2,)
    assert part.batch(torch.tensor([1])).inputs.tolist() == [[8.0, 9.0]]
    assert lazy.asked[-1] == [4]


def test_other_labels_keep_the_first_ones_as_true():
    data = small()
    noisy = data.with_labels(torch.tensor([1, 1, 1, 1])).with_labels(torch.tensor([2, 2, 2, 2]))
    assert noisy.true_labels.tolist() == [0, 1, 1, 2]
    assert data.labels.tolist() == [0, 1, 1, 2]


def test_standardize_like_gives_mean_zero_and_deviation_one():
    generator = torch.Generator().manual_seed(0)
    for raw in (
        torch.randint(0, 256, (50, 3, 4, 4), dtype=torch.uint8, generator=generator),
        torch.randn(50, 3, generator=generator) * 9 + 4,
    ):
        flat = standardize_like(raw)(raw).transpose(0, 1).flatten(1).double()
        torch.testing.assert_close(flat.mean(1), torch.zeros(3).double(), atol=1e-5, rtol=0)
        torch.testing.assert_close(flat.std(1, correction=0), torch.ones(3).double(), atol=1e-5, rtol=0)


def test_a_constant_channel_is_not_divided_by_zero():
    for raw in (torch.full((5, 2, 3, 3), 7, dtype=torch.uint8), torch.full((5, 2), 7.0)):
        assert standardize_like(raw)(raw).abs().max() < 1e-6


def test_bytes_become_unit_floats():
    assert as_float(torch.tensor([0, 51, 255], dtype=torch.uint8)).tolist() == [0.0, torch.tensor(51 / 255).item(), 1.0]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_labels_of_any_integer_type(dtype):
    data = Dataset(
        torch.zeros(3, 2), torch.tensor([0, 1, 1], dtype=dtype), ("a", "b"), torch.tensor([1, 1, 0]).to(dtype)
    )
    assert data.labels.dtype == data.true_labels.dtype == torch.int64
    assert data.class_sizes.tolist() == [1, 2]


def test_what_is_an_image():
    labels = torch.tensor([0, 1])
    assert Dataset(torch.zeros(2, 3, 4, 4, dtype=torch.uint8), labels, ("a", "b")).is_images
    assert not Dataset(torch.zeros(2, 3), labels, ("a", "b")).is_images
    assert not Dataset(torch.zeros(2, 3, 4), labels, ("a", "b")).is_images

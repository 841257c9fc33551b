import inspect as signatures

import numpy as np
import pytest
import torch

from reweigh.data import DATASETS
from reweigh.data.named.official import SOURCES, missing
from reweigh.errors import DataError


def test_mnist_zipped_and_plain(mnist_root):
    train, test = DATASETS["mnist"](mnist_root)
    assert (len(train), len(test), train.shape, train.class_names[3]) == (40, 20, (1, 28, 28), "3")
    assert float(train.normalize.mean) == pytest.approx(0.1307)


def test_cifar(cifar_root):
    for name, size, classes in (("cifar10", 1000, 10), ("cifar100", 200, 100)):
        train, test = DATASETS[name](cifar_root)
        assert (len(train), len(test), train.num_classes) == (size, 200, classes)


def test_a_fixed_part_of_both_splits(cifar_root):
    first, again = (DATASETS["cifar10"](cifar_root, train_size=100, test_size=50) for _ in range(2))
    assert first.train.class_sizes.tolist() == [10] * 10
    assert first.test.class_sizes.tolist() == [5] * 10
    assert torch.equal(first.train.origin, again.train.origin)


def test_images_are_shrunk_to_means_of_their_pixels(cifar_root):
    whole, small = (DATASETS["cifar10"](cifar_root, **how) for how in ({}, {"size": 16}))
    assert small.train.shape == small.test.shape == (3, 16, 16)
    assert small.train.inputs.dtype == torch.uint8
    corner = whole.test.inputs[7, 2, :2, 4:6].float().mean()
    assert abs(float(small.test.inputs[7, 2, 0, 2]) - float(corner)) <= 0.5
    with pytest.raises(DataError, match=r"data\.size: 33 pixels, but the images have 32"):
        DATASETS["cifar10"](cifar_root, size=33)


def test_human_labels_keep_the_official_ones_as_true(cifar_root, tmp_path):
    human = (np.arange(1000) + 1) % 10
    np.save(tmp_path / "human.npy", human)
    train, _ = DATASETS["cifar10"](cifar_root, labels=str(tmp_path / "human.npy"), train_size=100)
    assert train.labels.tolist() == human[train.origin.numpy()].tolist()
    assert train.true_labels.tolist() == ((train.labels - 1) % 10).tolist()


def test_missing_files_say_which_where_and_how(mnist_root):
    (mnist_root / "mnist" / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError) as error:
        DATASETS["mnist"](mnist_root)
    text = str(error.value)
    assert text.startswith("mnist: t10k-labels-idx1-ubyte not found")
    assert str(mnist_root / "mnist") in text
    assert "reweigh data get mnist" in text


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_a_dataset_with_its_files_named(name, tmp_path):
    assert missing(name, tmp_path) == list(SOURCES[name].files)
    assert all(len(md5) == 32 for md5 in SOURCES[name].downloads.values())
    with pytest.raises(DataError, match=f"reweigh data get {name}"):
        DATASETS[name](tmp_path)


@pytest.mark.parametrize("name", DATASETS)
def test_every_dataset_takes_a_root_and_documents_its_options(name):
    parameters = signatures.signature(DATASETS[name]).parameters.values()
    positional = [parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    assert positional == (["root", "text"] if name == "files" else ["root"])  # both come from the assembly
    for parameter in parameters:
        assert f"{parameter.name}: " in DATASETS[name].__doc__
    assert "\n" not in DATASETS[name].__doc__.strip().split("\n\n")[0]


def test_the_first_samples_with_published_labels(cifar_root, tmp_path):
    whole, _ = DATASETS["cifar10"](cifar_root)
    labels = (whole.labels[:90] + 1) % 10
    np.save(tmp_path / "noisy.npy", labels.numpy())
    train, _ = DATASETS["cifar10"](cifar_root, first=90, labels=str(tmp_path / "noisy.npy"))
    assert torch.equal(train.labels, labels)
    assert train.true_labels.equal(whole.labels[:90])
    for options in ({"first": 91}, {}):
        with pytest.raises(DataError, match=r"90 labels for .* training images; if they .* add data\.first=90"):
            DATASETS["cifar10"](cifar_root, labels=str(tmp_path / "noisy.npy"), **options)
    with pytest.raises(DataError, match="90 labels for 89 samples"):
        DATASETS["cifar10"](cifar_root, first=89, labels=str(tmp_path / "noisy.npy"))
    with pytest.raises(DataError, match=r"data\.first: 10000000 samples, but the training set has"):
        DATASETS["cifar10"](cifar_root, first=10_000_000)


def test_labels_in_another_order_are_noticed(cifar_root, tmp_path, caplog):
    official = DATASETS["cifar10"](cifar_root).train.labels.numpy()
    noisy, moved = np.where(np.arange(1000) % 10 < 3, official, 0), (official + 1) % 10
    for name, labels, warns in (("noisy", noisy, False), ("moved", moved, True)):
        np.save(tmp_path / f"{name}.npy", labels)
        caplog.clear()
        DATASETS["cifar10"](cifar_root, labels=str(tmp_path / f"{name}.npy"))
        assert any("in the order of the official files?" in record.getMessage() for record in caplog.records) == warns

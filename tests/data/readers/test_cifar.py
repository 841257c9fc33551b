import numpy as np
import pytest

from reweigh.data.readers.published import read_cifar, read_records
from reweigh.errors import DataError


def test_records_against_a_loop(cifar_root):
    file = cifar_root / "cifar-100-binary" / "train.bin"
    images, labels = read_records([file, file], label_bytes=2)
    data = file.read_bytes()
    assert images.shape == (400, 3, 32, 32)
    for number in (0, 1, 199, 200, 399):
        record = data[(number % 200) * 3074 : (number % 200 + 1) * 3074]
        assert int(labels[number]) == record[1]
        for channel, row, column in ((0, 0, 0), (1, 2, 3), (2, 31, 31)):
            assert int(images[number, channel, row, column]) == record[2 + channel * 1024 + row * 32 + column]


def test_both_datasets_and_both_splits(cifar_root):
    for folder, classes, train in (("cifar-10-batches-bin", 10, 1000), ("cifar-100-binary", 100, 200)):
        for split, size in (("train", train), ("test", 200)):
            data = read_cifar(cifar_root / folder, split)
            assert (len(data), data.num_classes, data.class_names[3]) == (size, classes, "class3")
            assert data.labels.tolist() == [number % 200 % classes for number in range(size)]


@pytest.mark.parametrize("size", [0, 3072, 200 * 3073 - 1])
def test_a_truncated_file(cifar_root, size):
    file = cifar_root / "cifar-10-batches-bin" / "data_batch_3.bin"
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(DataError, match=rf"data_batch_3\.bin: truncated: {size} bytes .* records of 3073; delete it"):
        read_cifar(file.parent)


def test_absent_files_foreign_folders_and_splits(cifar_root):
    folder = cifar_root / "cifar-10-batches-bin"
    (folder / "data_batch_2.bin").unlink()
    with pytest.raises(DataError, match=r"data_batch_2\.bin: there is no such file"):
        read_cifar(folder)
    with pytest.raises(DataError, match="no binary CIFAR files"):
        read_cifar(cifar_root)
    with pytest.raises(DataError, match="split: 'val'; there are: train, test"):
        read_cifar(folder, "val")


def test_labels_beyond_the_classes(cifar_root):
    file = cifar_root / "cifar-10-batches-bin" / "test_batch.bin"
    records = np.fromfile(file, np.uint8).reshape(-1, 3073)
    records[5, 0] = 200
    records.tofile(file)
    with pytest.raises(DataError, match=r"1 outside 0\.\.9: 200 \(row 5\)"):
        read_cifar(file.parent, "test")

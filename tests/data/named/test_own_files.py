import numpy as np
import pytest
import torch
from PIL import Image

from reweigh.data import DATASETS
from reweigh.data.inputs import MAX_DEVIATIONS
from reweigh.data.named.own_files import files as read_files
from reweigh.errors import DataError

files = DATASETS["files"]


def arrays(path, size: int, seed: int = 0):
    generator = np.random.default_rng(seed)
    np.savez(path, X=generator.normal(seed * 10, 1, (size, 4)), y=np.arange(size) % 4)


def test_a_share_is_held_out_and_normalized_by_the_rest(tmp_path):
    arrays(tmp_path / "a.npz", 100)
    train, test = files(tmp_path, path="a.npz", test_fraction=0.2)
    assert train.class_sizes.tolist() == [20] * 4
    assert test.class_sizes.tolist() == [5] * 4
    assert sorted(train.origin.tolist() + test.origin.tolist()) == list(range(100))
    assert train.batch(torch.arange(80)).inputs.mean(0).abs().max() < 1e-5
    assert test.normalize is train.normalize
    again, other = (files(tmp_path, path="a.npz", split_seed=seed) for seed in (0, 1))
    assert torch.equal(again.test.origin, test.origin)
    assert not torch.equal(other.test.origin, test.origin)


def test_a_test_file_is_normalized_as_the_training_file(tmp_path):
    arrays(tmp_path / "a.npz", 40)
    arrays(tmp_path / "b.npz", 2, seed=1)  # two of the four classes
    train, test = files(tmp_path, path="a.npz", test="b.npz")
    assert test.class_names == train.class_names
    assert (test.batch(torch.arange(2)).inputs == MAX_DEVIATIONS).all()  # far from the training file, so clipped


def test_a_table_is_encoded_by_its_training_part(tmp_path):
    lines = [f"{number}.0,{'ab'[number % 2]},{'xy'[number % 2]},{'xy'[number % 3 % 2]}" for number in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["n,c,kind,truth", *lines]))
    train, test = files(tmp_path, path="t.csv", label="kind", true_label="truth")
    assert (len(train), len(test)) == (32, 8)
    assert test.true_labels.tolist() == (test.origin % 3 % 2).tolist()
    assert abs(train.inputs[:, 0].mean()) < 1e-6
    assert test.reading.encoding is train.reading.encoding
    scale = train.origin.double().std(correction=0)
    expected = (test.origin - train.origin.double().mean()) / scale
    torch.testing.assert_close(test.inputs[:, 0].double(), expected, atol=1e-5, rtol=0)


def test_a_label_file_for_a_table_is_split_with_it(tmp_path):
    (tmp_path / "t.csv").write_text("n,kind\n" + "".join(f"{number}.5,{'xy'[number % 2]}\n" for number in range(40)))
    np.save(tmp_path / "l.npy", (np.arange(40) // 2) % 2)
    train, test = files(tmp_path, path="t.csv", label="kind", labels="l.npy")
    for part in (train, test):
        assert part.labels.tolist() == ((part.origin // 2) % 2).tolist()


def test_parts_that_are_there_already(tmp_path, mnist_root, cifar_root):
    assert [len(part) for part in files(mnist_root, path="mnist")] == [40, 20]
    assert [len(part) for part in files(cifar_root, path="cifar-10-batches-bin")] == [1000, 200]
    for split, number in (("train", 3), ("test", 1)):
        for name in ("cat", "dog"):
            (tmp_path / "pets" / split / name).mkdir(parents=True)
            for place in range(number):
                pixels = np.full((4, 4, 3), 40 * place + len(split), np.uint8)
                Image.fromarray(pixels).save(tmp_path / "pets" / split / name / f"{place}.png")
    train, test = files(tmp_path, path="pets")
    assert (len(train), len(test), test.class_names) == (6, 2, ("cat", "dog"))


def test_nothing_there(tmp_path):
    with pytest.raises(DataError, match=r"there is nothing at this path; a folder holds .* in train and test"):
        files(tmp_path, path="none")
    with pytest.raises(DataError, match=r"none\.csv: there is nothing at this path$"):
        files(tmp_path, path="none.csv")


def test_a_test_set_of_another_kind(tmp_path):
    inputs, labels = np.random.default_rng(0).integers(0, 255, (8, 3)), np.arange(8) % 2
    np.savez(tmp_path / "train.npz", inputs=inputs.astype(np.float32), labels=labels)
    for name, other in {"bytes": inputs.astype(np.uint8), "wide": np.zeros((8, 4), np.float32)}.items():
        np.savez(tmp_path / f"{name}.npz", inputs=other, labels=labels)
        with pytest.raises(
            DataError, match=r"test: samples are .*, but the training samples are floats of shape \(3,\)"
        ):
            read_files(tmp_path, path="train.npz", test=f"{name}.npz")


def test_a_test_set_of_its_own_has_its_own_rows(tmp_path):
    """Otherwise it counts as held out of the data, and decisions about their rows would change it."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    kinds = ["a", "b"] * 10
    for part, labels in {"train": kinds, "test": [None, *kinds]}.items():
        frame = pd.DataFrame({"width": np.arange(len(labels)) % 7 + 0.5, "kind": labels})
        frame.to_parquet(tmp_path / f"{part}.parquet")
    train, test = files(tmp_path, path=".", label="kind")
    assert (len(train), len(test)) == (20, 20)
    assert test.origin is None

"""Parquet files of images, as the Hugging Face Hub stores them."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from reweigh.data import read
from reweigh.data.readers import has_test_part, read_unlabeled
from reweigh.errors import DataError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def png(value: int) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.full((4, 5), value, np.uint8)).save(file, "PNG")
    return file.getvalue()


def write(path: Path, images: list[Any], labels: list[Any], names: list[str] | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table({"id": list(range(len(images))), "image": pa.array(images, kind), "label": labels})
    if names is not None:
        features = {"image": {"_type": "Image"}, "label": {"names": names, "_type": "ClassLabel"}}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, path, row_group_size=2)


@pytest.mark.parametrize("memory_gb", [2.0, 0.0])
def test_as_a_download_from_the_hub(tmp_path: Path, memory_gb: float) -> None:
    for part, (name, count) in enumerate((("train-00000-of-00002", 3), ("train-00001-of-00002", 4), ("test-00000", 2))):
        images = [{"bytes": png(10 * part + n), "path": f"{n}.png" if part else None} for n in range(count)]
        write(tmp_path / "data" / f"{name}.parquet", images, [(n + part) % 2 for n in range(count)], ["dog", "cat"])
    assert has_test_part(tmp_path)
    train, test = read(tmp_path, memory_gb=memory_gb), read(tmp_path, split="test")
    assert train.class_names == ("dog", "cat")  # in the order of the Hub
    assert train.labels.tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert train.inputs[torch.arange(7)][:, 0, 0, 0].tolist() == [0, 1, 2, 10, 11, 12, 13]
    assert train.reading.names[:4] == (*(f"train-00000-of-00002 row {n}" for n in range(3)), "0.png")
    assert len(test) == 2


def test_gaps_and_broken_images_are_left_out(tmp_path: Path) -> None:
    images = [
        {"bytes": png(0), "path": None},
        None,
        {"bytes": b"broken", "path": "x.jpg"},
        *({"bytes": png(n)} for n in (3, 4)),
    ]
    write(tmp_path / "a.parquet", images, [0, 1, 1, 1, -1], ["a", "b"])
    dataset = read(tmp_path / "a.parquet")
    assert dataset.source_rows.tolist() == [0, 3]
    assert len(dataset.reading.skipped) == 2


def test_labels_of_another_name(tmp_path: Path) -> None:
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = pa.array([{"bytes": png(n), "path": None} for n in range(4)], kind)
    pq.write_table(pa.table({"image": images, "breed": ["x", "y", "x", "y"]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"which column is the label.*breed"):
        read(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"no column 'bred' for the label; there are: breed\. Did you mean 'breed'"):
        read(tmp_path / "b.parquet", label="bred")
    assert read(tmp_path / "b.parquet", label="breed").class_names == ("x", "y")
    found = read_unlabeled(tmp_path / "b.parquet", (1, 4, 5), encoding=None, raw_bytes=True)
    assert len(found.inputs) == 4


def test_a_table_without_images_is_a_table(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [0.0, 1.0, 2.0, 3.0], "label": ["a", "b", "a", "b"]}), tmp_path / "c.parquet")
    assert read(tmp_path / "c.parquet").shape == (1,)


def metadata(path: Path, stored: str | bytes, labels: list[Any] | None = None) -> Path:
    """Six images with anything in place of what the Hub stores beside them."""
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = pa.array([{"bytes": png(n), "path": None} for n in range(6)], kind)
    table = pa.table({"image": images, "label": labels or [0, 1] * 3})
    pq.write_table(table.replace_schema_metadata({"huggingface": stored}), path)
    return path


@pytest.mark.parametrize(
    "stored", ["{", "[1]", "[" * 100_000, b"\xff\xfe", '{"info": {"features": {"label": {"names": "ab"}}}}']
)
def test_absurd_metadata_are_not_class_names(tmp_path: Path, stored: str | bytes) -> None:
    assert read(metadata(tmp_path / "t.parquet", stored)).class_names == ("0", "1")


def test_labels_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"column 'label' holds several labels per image, such as \[0\]; keep one"):
        read(metadata(tmp_path / "several.parquet", "{}", [[0], [1]] * 3))
    names = json.dumps({"info": {"features": {"label": {"names": ["a", "b"]}}}})
    with pytest.raises(DataError, match="none of its 6 listed images has a label"):
        read(metadata(tmp_path / "others.parquet", names, [0.5, 7.5] * 3))


def test_one_image_in_very_many_rows_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photo = np.random.default_rng(0).bytes(100_000)
    rows = pa.DictionaryArray.from_arrays(pa.array(np.zeros(500, np.int32)), pa.array([photo]))
    pq.write_table(pa.table({"image": rows.cast(pa.binary()), "label": [0, 1] * 250}), tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 300_000
    monkeypatch.setenv("REWEIGH_MAX_EXPANDED", "1e7")
    with pytest.raises(DataError, match=r"a compressed file with contents of .* bytes; the limit is 10,000,000"):
        read(tmp_path / "t.parquet")

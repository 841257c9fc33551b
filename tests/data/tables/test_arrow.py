"""Folders that the package ``datasets`` saves, and Arrow files by themselves."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reweigh.data import read
from reweigh.data.parts import SAVED
from reweigh.data.readers import has_test_part, read_unlabeled
from reweigh.data.tables.frames import read_frame
from reweigh.errors import DataError

pa = pytest.importorskip("pyarrow")
TEXTS = [f"{word} {number}" for number in range(20) for word in ("good", "bad")]


def write(path: Path, columns: dict[str, Any], names: list[str] | None = None, rows: int = 7) -> None:
    """As ``datasets`` does: a stream of batches, with the class names beside the columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    features = {"label": {"names": names, "_type": "ClassLabel"}} if names else {}
    table = pa.table(columns).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table, rows)


def picture(value: int) -> dict[str, Any]:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.full((4, 5), value, np.uint8)).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": None}


def test_texts_saved_in_parts(tmp_path: Path) -> None:
    for part, count in (("train", 40), ("test", 12), ("unsupervised", 6)):
        labels = [-1 if n == 3 else n % 2 for n in range(count)]
        for shard in range(2):
            half = slice(shard * count // 2, (shard + 1) * count // 2)
            columns = {"text": TEXTS[:count][half], "label": labels[half]}
            write(tmp_path / part / f"data-0000{shard}-of-00002.arrow", columns, ["pos", "neg"])
    (tmp_path / SAVED).write_text("{}")
    assert has_test_part(tmp_path)
    train = read(tmp_path, drop_unlabeled=True)
    assert train.class_names == ("neg", "pos")
    assert train.labels.tolist() == [1 - n % 2 for n in range(40) if n != 3]
    test = read(tmp_path, split="test", encoding=train.reading.encoding, drop_unlabeled=True)
    assert len(test) == 11
    assert test.shape == train.shape
    assert read_frame(tmp_path, split="train")["text"].tolist() == TEXTS
    given = read_unlabeled(tmp_path / "unsupervised", train.shape, encoding=train.reading.encoding, raw_bytes=False)
    assert len(given.inputs) == 6


@pytest.mark.parametrize("memory_gb", [2.0, 0.0])
def test_images(tmp_path: Path, memory_gb: float) -> None:
    images = pa.array([picture(n) for n in range(9)], pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    write(tmp_path / "data-00000-of-00001.arrow", {"image": images, "label": [n % 2 for n in range(9)]}, ["b", "a"], 4)
    dataset = read(tmp_path, memory_gb=memory_gb)
    assert dataset.class_names == ("b", "a")
    index = dataset.labels.argsort(stable=True)
    assert dataset.inputs[index][:, 0, 0, 0].tolist() == [0, 2, 4, 6, 8, 1, 3, 5, 7]


def test_parts_without_one_for_training(tmp_path: Path) -> None:
    write(tmp_path / "extra" / "data.arrow", {"a": [1, 2], "label": [0, 1]})
    (tmp_path / SAVED).write_text("{}")
    with pytest.raises(DataError, match="has the parts extra, and none is called train"):
        read(tmp_path)


def test_a_file_that_was_cut_off_or_whose_offsets_are_wrong(tmp_path: Path) -> None:
    file = tmp_path / "a.arrow"
    write(file, {"text": TEXTS, "label": [n % 2 for n in range(40)]})
    content = file.read_bytes()
    file.write_bytes(content[:300])
    with pytest.raises(DataError, match="cannot be read as a table"):
        read(file)
    offsets = np.cumsum([0, *map(len, TEXTS[:7])]).astype(np.int32)
    wrong = offsets.copy()
    wrong[3] = 2**30
    file.write_bytes(content.replace(offsets.tobytes(), wrong.tobytes(), 1))
    assert file.read_bytes() != content
    with pytest.raises(DataError, match="cannot be read as a table"):
        read(file)


def test_what_the_package_itself_saves(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["x", "y"])})
    saved = datasets.Dataset.from_dict({"text": TEXTS, "label": [n % 2 for n in range(40)]}, features)
    saved.select(range(39, -1, -1)).save_to_disk(str(tmp_path / "saved"), num_shards=2)
    frame = read_frame(tmp_path / "saved")
    assert frame["text"].tolist() == TEXTS[::-1]
    assert frame["label"].tolist() == ["y", "x"] * 20

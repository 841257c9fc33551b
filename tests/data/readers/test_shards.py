"""Tar archives of images: each sample is what lies in the archive, wherever its label is."""

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch

from reweigh.data import Dataset, read
from reweigh.data.readers import has_test_part, read_unlabeled
from reweigh.errors import DataError


def png(value: int) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.full((4, 5, 3), value, np.uint8)).save(file, "PNG")
    return file.getvalue()


def pack(path: Path, members: Mapping[str, bytes]) -> None:
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))


def values(dataset: Dataset) -> list[int]:
    return dataset.inputs[torch.arange(len(dataset))][:, 0, 0, 0].tolist()


@pytest.mark.parametrize("memory_gb", [2.0, 0.0])
def test_samples_keep_their_number_over_archives(tmp_path: Path, memory_gb: float) -> None:
    for shard in (1, 0):
        numbers = range(3 * shard, 3 * shard + 3)
        pack(
            tmp_path / "data" / f"{shard:05}.tar",
            {
                f"{n:04}.{kind}": png(n) if kind == "png" else str(n % 2).encode()
                for n in numbers
                for kind in ("png", "cls")
            },
        )
    dataset = read(tmp_path / "data", memory_gb=memory_gb)
    assert values(dataset) == [0, 1, 2, 3, 4, 5]
    assert dataset.labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert dataset.reading.names[4] == "0004.png"
    assert dataset.shape == (3, 4, 5)


def test_labels_in_json_in_folders_and_by_extension(tmp_path: Path) -> None:
    described = {f"{n}.{kind}": png(n) if kind == "png" else json.dumps({"id": n, "label": "ab"[n % 2]}).encode()
                 for n in range(4) for kind in ("png", "json")}  # fmt: skip
    pack(tmp_path / "json.tar", described)
    assert read(tmp_path / "json.tar").class_names == ("a", "b")
    pack(tmp_path / "folders.tar", {f"{'cat' if n < 2 else 'dog'}/{n}.png": png(n) for n in range(4)})
    assert read(tmp_path / "folders.tar").labels.tolist() == [0, 0, 1, 1]
    pack(
        tmp_path / "kind.tar",
        {**{f"{n}.png": png(n) for n in range(4)}, **{f"{n}.kind": b"xy"[n // 2 :][:1] for n in range(4)}},
    )
    assert read(tmp_path / "kind.tar", label="kind").class_names == ("x", "y")
    with pytest.raises(DataError, match="which column is the label"):
        read(tmp_path / "kind.tar")
    with pytest.raises(DataError, match=r"no column 'kin' for the label; there are: kind\. Did you mean 'kind'"):
        read(tmp_path / "kind.tar", label="kin")


def test_what_cannot_be_used_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pack(tmp_path / "a.tar", {"0.png": png(0), "0.cls": b"0", "1.png": b"no image", "1.cls": b"1", "2.png": png(2),
                              "3.png": png(3), "3.cls": b"1", "readme.txt": b"hello"})  # fmt: skip
    dataset = read(tmp_path / "a.tar")
    assert values(dataset) == [0, 3]
    assert dataset.source_rows.tolist() == [0, 3]
    assert "1.png" in dataset.reading.skipped[0]
    assert "1 image without a label" in caplog.text


def test_a_part_to_test_on_and_images_to_predict(tmp_path: Path) -> None:
    for name, count in (("train-0", 4), ("val-0", 2)):
        pack(tmp_path / "set" / f"{name}.tar", {f"{'ab'[n % 2]}/{n}.png": png(n) for n in range(count)})
    assert has_test_part(tmp_path / "set")
    assert len(read(tmp_path / "set")) == 4
    assert len(read(tmp_path / "set", split="test")) == 2
    found = read_unlabeled(tmp_path / "set" / "val-0.tar", (3, 4, 5), encoding=None, raw_bytes=True)
    assert found.names == ("a/0.png", "b/1.png")


def test_damaged_and_compressed_archives(tmp_path: Path) -> None:
    (tmp_path / "broken.tar").write_bytes(b"something else" * 100)
    with pytest.raises(DataError, match="not a tar archive that can be read"):
        read(tmp_path / "broken.tar")
    pack(tmp_path / "cut.tar", {f"a/{n}.png": png(n) for n in range(3)} | {f"b/{n}.png": png(n) for n in range(3)})
    whole = (tmp_path / "cut.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(whole[: 5 * 1024 + 600])
    with pytest.raises(DataError, match="not a tar archive that can be read"):
        read(tmp_path / "cut.tar")


@pytest.mark.parametrize("about", [b"[" * 100_000, b"{", b"\xff"])
def test_a_description_that_is_not_json(tmp_path: Path, about: bytes) -> None:
    pack(
        tmp_path / "t.tar",
        {f"{n}.{kind}": png(n) if kind == "png" else about for n in range(4) for kind in ("png", "json")},
    )
    with pytest.raises(DataError, match="not JSON"):
        read(tmp_path / "t.tar")

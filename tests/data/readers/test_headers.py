"""The headers of many files are read once, by several processes, and again when a file changes."""

import os
from pathlib import Path

import pytest
from PIL import Image

from reweigh.data.readers import images
from reweigh.data.readers.image_files import Header
from reweigh.data.readers.images import headers_of


def test_once_as_long_as_a_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWEIGH_CACHE", str(tmp_path / "cache"))
    files = [tmp_path / f"{number}.png" for number in range(7)]
    for number, file in enumerate(files):
        Image.new("L" if number % 2 else "RGB", (4 + number, 3)).save(file)
    files[5].write_bytes(b"no image")
    expected = headers_of(files, tmp_path)
    assert expected[2] == Header(3, 6, False)
    assert isinstance(expected[5], str)
    monkeypatch.setattr(images, "MIN_CACHED_FILES", 2)
    monkeypatch.setattr(images, "HEADERS_AT_ONCE", 2)
    assert headers_of(files, tmp_path) == expected
    read: list[Path] = []
    plain = images.header
    monkeypatch.setattr(images, "header", lambda file: read.append(file) or plain(file))
    monkeypatch.setattr("reweigh.data.on_demand.shared_memory", lambda: 0)  # here, to be counted
    assert headers_of(files, tmp_path) == expected
    assert {*read} == {files[5]}
    Image.new("RGB", (9, 9)).save(files[0])
    os.utime(files[0], ns=(1, 1))
    assert headers_of(files, tmp_path)[0] == Header(9, 9, False)
    assert {*read} == {files[0], files[5]}

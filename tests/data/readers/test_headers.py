"""The headers of many files are those of a few, also if several processes read them."""

from pathlib import Path

import pytest
from PIL import Image

from reweigh.data.readers import images
from reweigh.data.readers.image_files import Header
from reweigh.data.readers.images import headers_of


def test_headers_of_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / f"{number}.png" for number in range(7)]
    for number, file in enumerate(files):
        Image.new("L" if number % 2 else "RGB", (4 + number, 3)).save(file)
    files[5].write_bytes(b"no image")
    expected = headers_of(files)
    assert expected[2] == Header(3, 6, False)
    assert isinstance(expected[5], str)
    monkeypatch.setattr(images, "MIN_SHARED_FILES", 2)
    monkeypatch.setattr(images, "HEADERS_AT_ONCE", 2)
    assert headers_of(files) == expected
